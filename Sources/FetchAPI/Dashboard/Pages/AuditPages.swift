import FetchJobs

/// The audit log: who did what.
enum AuditPages {
    static let path = "/dashboard/audit"
    static let hint =
        "Who did what in the name of a tenant, the newest first. Entries are chained: none can be changed."

    static func table(_ entries: [AuditEntry], isOfAll: Bool, next: String?, now: Timestamp) -> SheetPage.Table {
        let rows = entries.map { entry in
            let who = [entry.actor, entry.key ?? entry.signIn].compactMap(\.self).joined(separator: " ")
            return [
                SheetPage.Cell(
                    .time(entry.at, now: now),
                    isOfAll ? .hint(entry.tenant.map { "tenant \($0)" } ?? "the service") : nil),
                SheetPage.Cell(.text(who), .hint(entry.client)),
                SheetPage.Cell(.text(entry.action), entry.count > 1 ? .hint("\(entry.count) times") : nil),
                SheetPage.Cell(entry.object.map { .code($0) }, .hint(entry.details?.text)),
            ]
        }
        return SheetPage.Table(
            "Audit log", ["When", "Who", "Action", "Of what"], rows,
            empty: "No entries here. With fewer of the fields above there may be some.", next: next)
    }
}
