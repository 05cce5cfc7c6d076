/// Whether this process can take work.
package protocol Readiness: Sendable {
    /// The obstacles, a sentence each; empty when the node is ready.
    func obstacles() async -> [String]

    /// What is amiss although the node is ready, a sentence each, without names of machines.
    func remarks() async -> [String]

    /// A worker lives that will run submitted jobs, as far as this process knows.
    var hasLiveWorker: Bool { get }

    /// Why no new work of a tenant is taken; nil when it is.
    func overload(for tenant: Tenant.ID) -> Overload?
}
