package import FetchJobs

/// The contract of every form of ``NodeDirectory``, asked by one of several nodes that have jobs of a tenant.
package enum NodeDirectoryContract {
    package struct Subject: Sendable {
        package let directory: any NodeDirectory
        /// A job of another node, and that node.
        package let remote: (job: Job.ID, node: NodeAddress)
        /// A job of a node that cannot be reached, and that node.
        package let unreachable: (job: Job.ID, node: Node.ID)
        /// A job of the node that asks.
        package let own: Job.ID
        /// A job that waits.
        package let waiting: Job.ID

        package init(
            directory: any NodeDirectory, remote: (Job.ID, NodeAddress), unreachable: (Job.ID, Node.ID), own: Job.ID,
            waiting: Job.ID
        ) {
            self.directory = directory
            self.remote = remote
            self.unreachable = unreachable
            self.own = own
            self.waiting = waiting
        }

        fileprivate func owner(of job: Job.ID, tenant: Tenant.ID = .first) async throws -> NodeAddress? {
            try await directory.owner(of: job, tenant: tenant)
        }
    }

    package static let clauses: [Clause<Subject>] = [
        Clause("a job of another node is found there, where that node can be reached") { subject in
            compare("owner", try await subject.owner(of: subject.remote.job), subject.remote.node)
        },
        Clause("a node that cannot be reached has no URL") { subject in
            let node = subject.unreachable.node
            return compare(
                "owner", try await subject.owner(of: subject.unreachable.job), NodeAddress(id: node, url: nil))
        },
        Clause("a job of this node, one that waits and one that is unknown are no other node's") { subject in
            compare("own", try await subject.owner(of: subject.own), nil)
                + compare("waiting", try await subject.owner(of: subject.waiting), nil)
                + compare("unknown", try await subject.owner(of: Job.ID()), nil)
        },
        Clause("a job of another tenant is not found") { subject in
            compare("owner", try await subject.owner(of: subject.remote.job, tenant: .second), nil)
        },
    ]
}
