package import FetchJobs

/// How many jobs of each tenant may run at once, on all nodes together.
///
/// Nodes divide a limit, and each rounds its part up: on one node it is exact, on others all together run fewer than
/// one job a node more. No node has to ask another, and none has a tenant that it may run nothing of.
package struct RunningLimits: Sendable, Equatable {
    /// Of tenants that have none of their own; nil for as many as there is room for.
    package let standard: Int?
    /// Those of tenants that have one.
    package let own: [Tenant.ID: Int]
    /// The least of these.
    let leastOwn: Int?

    package init(standard: Int? = nil, own: [Tenant.ID: Int] = [:]) {
        self.standard = standard
        self.own = own
        leastOwn = own.values.min()
    }

    /// How many jobs of a tenant one of so many nodes may run; nil for as many as there is room for.
    func part(of tenant: Tenant.ID, ofNodes nodes: Int) -> Int? {
        (own[tenant] ?? standard).map { Self.part(of: $0, ofNodes: nodes) }
    }

    static func part(of limit: Int, ofNodes nodes: Int) -> Int { (limit + nodes - 1) / max(1, nodes) }
}
