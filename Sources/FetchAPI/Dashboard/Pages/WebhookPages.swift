import FetchJobs

/// The endpoints of webhooks, and the messages to them.
enum WebhookPages {
    static let path = "/dashboard/webhooks"
    static let rotate = "\(path)/{id}/rotate"
    static let enable = "\(path)/{id}/enable"
    static let disable = "\(path)/{id}/disable"
    static let test = "\(path)/{id}/test"
    static let replayFailed = "\(path)/{id}/replay"
    static let deliveries = "\(path)/deliveries"
    static let delivery = "\(deliveries)/{id}"
    static let replay = "\(delivery)/replay"
    static let hint =
        "Where events are sent, signed as Standard Webhooks says. The API makes endpoints; a test shows that they answer."
    static let deliveriesHint = "Messages to endpoints, the newest first: each with its attempts and their answers."

    static func choices(_ view: DashboardView, current: String) -> SheetPage.Choices {
        SheetPage.Choices(
            label: "Webhooks",
            items: [(path, "Endpoints"), (deliveries, "Deliveries")].map {
                .init(title: $0.1, href: view.href($0.0), isCurrent: $0.0 == current)
            })
    }

    // MARK: Endpoints

    static func endpoints(_ rows: [[SheetPage.Cell]], next: String?) -> SheetPage.Table {
        SheetPage.Table(
            "Endpoints", ["Endpoint", "State", "Events", "Made", "Rotation", "Change"], rows,
            empty:
                "There are no endpoints. POST /v1/webhooks/endpoints makes one; jobs name it as webhook.endpoint, or bring a "
                + "webhook.url of their own.", next: next)
    }

    static func row(_ endpoint: WebhookEndpoint, view: DashboardView, now: Timestamp) -> [SheetPage.Cell] {
        [
            .init(
                .code("\(endpoint.id)", to: view.href(deliveries, ("endpoint", "\(endpoint.id)"))),
                .text(endpoint.shownURL ?? "polled")),
            .init(state(endpoint), .time(endpoint.disabling?.at ?? endpoint.failingSince, now: now)),
            .init(.text(endpoint.events.map(\.rawValue).joined(separator: ", "))),
            .init(.time(endpoint.createdAt, now: now)),
            .init(endpoint.previousSecret.map { .time($0.until, now: now, before: "old secret ends ") }),
            .init(forms: forms(endpoint, view)),
        ]
    }

    private static func state(_ endpoint: WebhookEndpoint) -> SheetPage.Line {
        if let disabling = endpoint.disabling { return .state("disabled: \(disabling.reason.rawValue)", "failed") }
        return endpoint.failingSince == nil ? .state("enabled", "succeeded") : .state("failing", "scheduled")
    }

    private static func forms(_ endpoint: WebhookEndpoint, _ view: DashboardView) -> [SheetPage.Form] {
        let base = "\(path)/\(endpoint.id)"
        var forms: [SheetPage.Form] = []
        if endpoint.disabling != nil, view.may(enable) {
            forms.append(.init(action: "\(base)/enable", button: "Enable", about: "\(endpoint.id)"))
        }
        if endpoint.disabling == nil, view.may(test) {
            forms.append(
                .init(
                    action: "\(base)/test", button: "Send a test", effect: "Its delivery has the answer.",
                    about: "\(endpoint.id)"))
        }
        if endpoint.disabling == nil, view.may(disable) {
            forms.append(
                .init(
                    action: "\(base)/replay", button: "Replay failed",
                    fields: [
                        .choice(
                            "hours", "Given up within", ["1", "24", "168"], chosen: "24", all: "30 days"
                        )
                    ], effect: "Hours. Receivers tell repeats by the webhook-id.", isDestructive: true,
                    about: "\(endpoint.id)"))
            forms.append(
                .init(
                    action: "\(base)/rotate", button: "Rotate secret",
                    effect: "The new secret is shown once. Messages are signed with both for 24 hours.",
                    isDestructive: true, about: "\(endpoint.id)"))
            forms.append(
                .init(
                    action: "\(base)/disable", button: "Disable",
                    effect: "Its pending messages are given up.", isDestructive: true, about: "\(endpoint.id)"))
        }
        return forms
    }

    // MARK: Deliveries

    static func table(
        _ items: [StoredDelivery], view: DashboardView, next: String?, now: Timestamp
    ) -> SheetPage.Table {
        let rows = items.map { item in
            [
                SheetPage.Cell(
                    .code(
                        "\(item.delivery.id)",
                        to: view.mayOpen(delivery) ? view.href("\(deliveries)/\(item.delivery.id)") : nil)),
                SheetPage.Cell(.text(item.delivery.event.rawValue), subject(item.delivery.subject, view)),
                SheetPage.Cell(.state(item.state.rawValue, style(item.state))),
                SheetPage.Cell(.number("\(item.delivery.attempts)")),
                SheetPage.Cell(item.lastStatus.map { .number("\($0)") }, .time(item.lastAttemptAt, now: now)),
                SheetPage.Cell(item.state == .pending ? .time(item.nextAttemptAt, now: now) : nil),
                SheetPage.Cell(.time(item.delivery.createdAt, now: now)),
                SheetPage.Cell(forms: replayForms(item, view)),
            ]
        }
        return SheetPage.Table(
            "Deliveries", ["Delivery", "Event", "State", "Attempts", "Last answer", "Next attempt", "Made", "Change"],
            rows,
            empty:
                "There are no deliveries here. A job whose webhook names an endpoint makes one when it ends; Send a test at "
                + "an endpoint makes one at once.", next: next)
    }

    private static func subject(_ subject: WebhookDelivery.Subject, _ view: DashboardView) -> SheetPage.Line {
        switch subject {
        case .job(let id): .code("\(id)", to: view.job(id))
        case .session(let id): .code(id.name, to: view.href("\(SessionPages.path)/\(id.name)"))
        case .endpoint(let id): .code("\(id)")
        case .group(let id): .code("\(id)", to: view.jobs(("group", "\(id)")))
        }
    }

    private static func style(_ state: DeliveryState) -> String {
        switch state {
        case .pending: "scheduled"
        case .delivered: "succeeded"
        case .abandoned: "failed"
        }
    }

    static func replayForms(_ item: StoredDelivery, _ view: DashboardView) -> [SheetPage.Form] {
        guard view.may(replay) else { return [] }
        return [
            .init(action: "\(deliveries)/\(item.delivery.id)/replay", button: "Replay", about: "\(item.delivery.id)")
        ]
    }

    static func sections(_ item: StoredDelivery, view: DashboardView, now: Timestamp) -> [SheetPage.Section] {
        let facts: [(String, String?)] = [
            ("State", item.state.rawValue), ("Event", item.delivery.event.rawValue),
            ("About", item.delivery.subject.description), ("Endpoint", item.delivery.endpoint.description),
            ("Made", item.delivery.createdAt.description),
            ("Next attempt", item.state == .pending ? item.nextAttemptAt.description : nil),
        ]
        let shown = facts.compactMap { name, value in value.map { Fact(name: name, value: $0) } }
        // The last attempts tell most, and a page stays small.
        let attempts = item.attempts.suffix(10).reversed().flatMap(sections)
        return [
            .init(
                facts: .init(facts: shown), forms: replayForms(item, view))
        ] + (attempts.isEmpty ? [.init(hint: "No attempt was made yet.")] : attempts)
    }

    private static func sections(_ attempt: DeliveryAttempt) -> [SheetPage.Section] {
        var facts = [
            Fact(name: "Begun", value: attempt.startedAt.description),
            Fact(name: "Took", value: Waterfall.show(attempt.duration.seconds)),
            Fact(name: "Sent to", value: VisibleText.cut(String(attempt.url.prefix { $0 != "?" }))),
        ]
        if let error = attempt.errorName { facts.append(Fact(name: "Error", value: VisibleText.cut(error))) }
        if let answer = attempt.answer { facts.append(Fact(name: "Status", value: "\(answer.status)")) }
        var sections: [SheetPage.Section] = [
            .init(
                heading: "Attempt \(attempt.number)", facts: .init(facts: facts),
                table: .init(
                    "Fields of request \(attempt.number)", ["Sent field", "Value"], fields(attempt.requestHeaders)))
        ]
        guard let answer = attempt.answer else { return sections }
        let body = VisibleText.preview(of: answer.body, limit: DeliveryAttempt.maximumBody)
        sections.append(
            .init(
                hint: body == nil
                    ? "The body of the answer is no text." : answer.isCut ? "The body goes on." : nil,
                table: .init(
                    "Fields of answer \(attempt.number)", ["Received field", "Value"], fields(answer.headers)),
                text: body))
        return sections
    }

    private static func fields(_ headers: RawJSON) -> [[SheetPage.Cell]] {
        // JSON that cannot be read counts as absent: the page shows the rest.
        let fields = (try? JSONParser.parse(headers.bytes))?.elements ?? []
        return fields.prefix(40).map { field in
            let name = field.member("name")?.text ?? ""
            let value = Redaction.hides(fieldNamed: name) ? Redaction.text : field.member("value")?.text ?? ""
            return [.init(.code(name)), .init(.code(value))]
        }
    }
}
