import FetchJobs

/// The cookies of a session; their values are secrets and are not shown.
enum CookiePages {
    static let path = "/dashboard/cookies"
    static let remove = "\(path)/delete"
    static let hint = "What origins have set for the jobs of a session. Values are secrets: no page shows them."

    static func table(
        _ cookies: [ShownCookie], session: TenantSession.ID, view: DashboardView, next: String?, now: Timestamp
    ) -> SheetPage.Table {
        let rows = cookies.map { cookie in
            [
                SheetPage.Cell(.text(cookie.domain), .hint(cookie.partition)),
                SheetPage.Cell(.code(cookie.name)), SheetPage.Cell(.code(cookie.path)),
                SheetPage.Cell(.number(Figure.bytes(Int64(cookie.valueBytes)))),
                SheetPage.Cell(.text(cookie.attributes.joined(separator: ", "))),
                SheetPage.Cell(cookie.expiresAt.map { .time($0, now: now) } ?? .text("with the session")),
                SheetPage.Cell(.time(cookie.setAt, now: now)),
                SheetPage.Cell(forms: forms(cookie, session, view)),
            ]
        }
        return SheetPage.Table(
            "Cookies", ["Domain", "Name", "Path", "Value", "Attributes", "Expires", "Set", "Change"], rows,
            empty:
                "There are no cookies here. Jobs of a session keep what origins set; a job without one keeps them with "
                + #""cookies": {"jar": "session"} in its configuration."#, next: next)
    }

    private static func forms(
        _ cookie: ShownCookie, _ session: TenantSession.ID, _ view: DashboardView
    ) -> [SheetPage.Form] {
        guard view.may(remove) else { return [] }
        return [
            SheetPage.Form(
                action: remove, button: "Delete",
                fields: [
                    .hidden("session", session.name), .hidden("cookie", OpaqueText.write(cookie.position.text)),
                ], isDestructive: true, about: VisibleText.cut(cookie.name))
        ]
    }
}
