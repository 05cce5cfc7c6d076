import FetchJobs

/// The sessions, and one of them with the values that hold in it.
enum SessionPages {
    static let path = "/dashboard/sessions"
    static let one = "\(path)/{id}"
    static let invalidate = "\(one)/invalidate"
    static let hint =
        "A configuration and stores that jobs share. Jobs that name no session belong to the default one, which is always there."

    static func table(_ rows: [[SheetPage.Cell]], next: String?) -> SheetPage.Table {
        SheetPage.Table(
            "Sessions", ["Session", "Kind", "State", "Description", "Node", "Created", "Stores"], rows,
            empty: "There are no sessions but the default one. POST /v1/sessions makes one.", next: next)
    }

    static func row(_ session: TenantSession, view: DashboardView, now: Timestamp) -> [SheetPage.Cell] {
        [
            .init(.code(session.id.name, to: view.href("\(path)/\(session.id.name)"))),
            .init(.text(session.spec.kind.rawValue), .hint(session.spec.identifier)),
            .init(.state(session.state.rawValue, style(session.state))),
            .init(.text(session.spec.description)),
            .init(session.node.map { .code("\($0)") }),
            .init(.time(session.createdAt, now: now), .time(session.endedAt, now: now, before: "ended ")),
            .init(stores(session.id, view)),
        ]
    }

    private static func stores(_ id: TenantSession.ID, _ view: DashboardView) -> SheetPage.Line {
        .link("Cookies", to: view.href(CookiePages.path, ("session", id.name)))
    }

    private static func style(_ state: SessionState) -> String {
        switch state {
        case .active: "succeeded"
        case .finishing, .cancelling: "scheduled"
        case .invalidated: ""
        }
    }

    static func sections(
        _ session: TenantSession, standard: Configuration, view: DashboardView, now: Timestamp
    ) -> [SheetPage.Section] {
        let effective = EffectiveConfiguration(session: session.spec.configuration, standard: standard)
        let lists = [
            (view.jobs(("session", session.id.name)), "Jobs"),
            (view.href(CookiePages.path, ("session", session.id.name)), "Cookies"),
            (view.href(CredentialPages.path, ("session", session.id.name)), "Credentials"),
            (view.href(CachePages.path, ("session", session.id.name)), "Cached answers"),
        ]
        var links = SheetPage.Cell()
        links.lines = lists.map { href, title in .link(title, to: href) }
        return [
            .init(facts: .init(facts: facts(session)), forms: forms(session, view)),
            .init(table: .init("Lists of the session", ["What it has"], [[links]])),
            .init(
                heading: "Configuration that holds",
                hint: "For jobs that set nothing else: each value, and whether the session or the service says it.",
                table: values(effective)),
        ]
    }

    private static func facts(_ session: TenantSession) -> [Fact] {
        let facts: [(String, String?)] = [
            ("State", session.state.rawValue), ("Kind", session.spec.kind.rawValue),
            ("Identifier", session.spec.identifier), ("Description", session.spec.description),
            ("Node", session.node?.description), ("Created", session.createdAt?.description),
            ("Invalidated", session.invalidatedAt?.description), ("Ended", session.endedAt?.description),
            ("Events finished", session.eventsFinishedAt?.description),
            ("Events acknowledged", session.eventsAcknowledgedAt?.description),
            ("Snapshot", session.spec.snapshot?.description),
            ("Protocols", session.spec.protocols?.joined(separator: ", ")),
            ("Webhook", session.spec.webhook?.endpoint?.description),
        ]
        return facts.compactMap { name, value in value.map { Fact(name: name, value: VisibleText.cut($0)) } }
    }

    private static func forms(_ session: TenantSession, _ view: DashboardView) -> [SheetPage.Form] {
        guard view.may(invalidate), session.id != .default, session.state == .active || session.state == .finishing
        else { return [] }
        let action = "\(path)/\(session.id)/invalidate"
        var forms: [SheetPage.Form] = []
        if session.state == .active {
            forms.append(
                SheetPage.Form(
                    action: action, button: "Finish", fields: [.hidden("mode", Invalidation.finish.rawValue)],
                    effect: "It takes no more jobs; those there go on.", isDestructive: true))
        }
        forms.append(
            SheetPage.Form(
                action: action, button: "Cancel all", fields: [.hidden("mode", Invalidation.cancel.rawValue)],
                effect: "It takes no more jobs; those there are cancelled.", isDestructive: true))
        return forms
    }

    /// The values of a configuration by their groups.
    private static func values(_ effective: EffectiveConfiguration) -> SheetPage.Table {
        let json = try? JSONParser.parse(JSONWriter.object(effective.write))
        var rows: [[SheetPage.Cell]] = []
        guard case .object(let groups) = json else { return .init("Configuration", [], []) }
        for group in groups {
            guard case .object(let members) = group.value else {
                rows.append([.init(.code(group.name)), .init(.code(group.value.shown)), .init()])
                continue
            }
            for member in members {
                let source = member.value.member("from")?.text
                let value = member.value.member("value") ?? member.value
                rows.append([
                    .init(.code("\(group.name).\(member.name)")), .init(.code(value.shown)),
                    .init(source.map { .state($0, $0 == "session" ? "running" : "") }),
                ])
            }
        }
        return .init("Configuration", ["Setting", "Value", "From"], rows)
    }
}
