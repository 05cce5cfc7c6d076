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
        /// The volumes of the other node, of the one that asks, and of one that is gone.
        package let volumes: (remote: Volume, own: Volume, left: Volume)

        package init(
            directory: any NodeDirectory, remote: (Job.ID, NodeAddress), unreachable: (Job.ID, Node.ID), own: Job.ID,
            waiting: Job.ID, volumes: (Volume, Volume, Volume)
        ) {
            self.directory = directory
            self.remote = remote
            self.unreachable = unreachable
            self.own = own
            self.waiting = waiting
            self.volumes = volumes
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
        Clause("a volume is found at the node that has it, and at none of its own or of those that are gone") {
            subject in
            let (directory, volumes) = (subject.directory, subject.volumes)
            return compare("remote", try await directory.node(with: volumes.remote), subject.remote.node)
                + compare("own", try await directory.node(with: volumes.own), nil)
                + compare("left", try await directory.node(with: volumes.left), nil)
                + compare("unknown", try await directory.node(with: .new()), nil)
        },
        Clause("a volume that a node had is known, and one that nobody ever had is not") { subject in
            let (directory, volumes) = (subject.directory, subject.volumes)
            return compare("remote", try await directory.isKnown(volumes.remote), true)
                + compare("own", try await directory.isKnown(volumes.own), true)
                + compare("left", try await directory.isKnown(volumes.left), true)
                + compare("unknown", try await directory.isKnown(.new()), false)
        },
        Clause("a job of another tenant is not found") { subject in
            compare("owner", try await subject.owner(of: subject.remote.job, tenant: .second), nil)
        },
    ]
}
