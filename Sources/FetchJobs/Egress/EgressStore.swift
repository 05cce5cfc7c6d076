package import FetchEngine

/// Where the egress documents of operators are; a change is known to all nodes within moments.
package protocol EgressStore: Sendable {
    /// The document of an owner, or that there is none.
    ///
    /// - Parameter owner: A tenant, or ``Tenant/ID/service`` for all.
    func egress(of owner: Tenant.ID) async throws(StoreError) -> EgressDocument

    /// The documents whose versions are not those known.
    func egress(besides known: [Tenant.ID: Int64]) async throws(StoreError) -> [Tenant.ID: EgressDocument]

    /// Puts others in place of the rules of an owner; nil takes them away.
    ///
    /// - Parameters:
    ///   - version: That of the document which is replaced; nil for whichever there is.
    ///   - name: The tenant's, for the audit log; nil for the service.
    /// - Returns: Nil when it has another version.
    func replaceEgress(
        of owner: Tenant.ID, named name: String?, _ version: Int64?, with rules: TargetRules?
    ) async throws(StoreError) -> EgressDocument?
}
