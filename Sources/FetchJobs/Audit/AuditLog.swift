/// The record of who did what, which is only added to.
///
/// Changes that are stored write their entries themselves, in the same transaction; this is for what has none.
package protocol AuditLog: Sendable {
    /// Writes an entry; it is stored when this returns.
    func record(_ event: AuditEvent) async throws(StoreError)

    /// Writes an entry within a few seconds.
    ///
    /// The same event again within a minute is counted in one entry; and of a chain that would get more than a few
    /// entries a minute so, the others are counted by their action only, so that nobody can fill the log.
    func note(_ event: AuditEvent)

    /// The next entries that a filter chooses, the newest first; what was recorded before the call is among them.
    func entries(
        matching filter: AuditFilter, after entry: AuditEntry.ID?, limit: Int
    ) async throws(StoreError) -> [AuditEntry]

    /// Checks chains from their anchors to their heads.
    ///
    /// - Parameter chain: Nil for all.
    func verify(_ chain: Tenant.ID?) async throws(StoreError) -> [AuditChainReport]
}
