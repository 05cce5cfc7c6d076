import FetchJobs

/// API keys, without what is secret of them.
enum KeyPages {
    static let path = "/dashboard/keys"
    static let revoke = "\(path)/{id}/revoke"
    static let hint = "Who may use the API, and what for. The API and fetchd keys make and rotate them."

    static func table(
        _ keys: [(key: APIKey, tenant: Tenant)], mayRevoke: Bool, isOfAll: Bool, next: String?, now: Timestamp
    ) -> SheetPage.Table {
        let rows = keys.map { key, tenant in
            [
                SheetPage.Cell(
                    .text(key.spec.name), .code("\(key.id)"), isOfAll ? .hint("tenant \(tenant.name)") : nil),
                SheetPage.Cell(state(key, now)),
                SheetPage.Cell(.text(key.spec.scopes.sorted.map(\.rawValue).joined(separator: ", "))),
                SheetPage.Cell(.text(bounds(key))),
                SheetPage.Cell(key.lastUsedAt.map { .time($0, now: now) } ?? .text("never")),
                SheetPage.Cell(.time(key.createdAt, now: now), .hint(key.createdBy.map { "by \($0)" })),
                SheetPage.Cell(.time(key.spec.expiresAt, now: now)),
                SheetPage.Cell(forms: mayRevoke && key.isValid(at: now) ? [form(key)] : []),
            ]
        }
        return SheetPage.Table(
            "Keys", ["Key", "State", "Scopes", "Bound to", "Last use", "Made", "Expires", "Change"], rows, next: next)
    }

    private static func state(_ key: APIKey, _ now: Timestamp) -> SheetPage.Line {
        if key.revokedAt != nil { return .state("revoked", "failed") }
        guard key.isValid(at: now) else { return .state("expired", "") }
        return key.replacedBy == nil ? .state("valid", "succeeded") : .state("replaced", "scheduled")
    }

    private static func bounds(_ key: APIKey) -> String {
        let bounds = [
            key.spec.session.map { "the session \($0.name)" }, key.spec.hostNames.map { "the hosts \($0)" },
            key.spec.maximumJobs.map { "\(key.submittedJobs) of \($0) jobs" },
        ].compactMap(\.self)
        return bounds.isEmpty ? "nothing" : bounds.joined(separator: "; ")
    }

    private static func form(_ key: APIKey) -> SheetPage.Form {
        SheetPage.Form(
            action: "\(path)/\(key.id)/revoke", button: "Revoke",
            effect: "It is refused from now on, and its sign-ins end. This cannot be taken back.", isDestructive: true,
            about: VisibleText.cut(key.spec.name))
    }
}
