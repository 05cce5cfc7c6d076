/// A process that runs jobs.
package enum Node {
    package enum Kind: IdentifierKind {
        package static let prefix = "nod"
    }

    /// New at each start.
    package typealias ID = Identifier<Kind>
}

/// Where the other nodes are.
package protocol NodeDirectory: Sendable {
    /// The node that has a job, suspended ones too; nil when none has it, or this one.
    func owner(of job: Job.ID, tenant: Tenant.ID) async throws(StoreError) -> NodeAddress?

    /// A node that lives and has a volume; one that can be reached, if there is one. Nil when none has it, or this one.
    func node(with volume: Volume) async throws(StoreError) -> NodeAddress?

    /// Whether a node has a volume, or had it in the last month.
    func isKnown(_ volume: Volume) async throws(StoreError) -> Bool
}

/// A node, and how others reach it.
package struct NodeAddress: Sendable, Equatable {
    package let id: Node.ID
    /// Scheme, host and port of its API; nil when it cannot be reached.
    package let url: String?

    package init(id: Node.ID, url: String?) {
        self.id = id
        self.url = url
    }
}
