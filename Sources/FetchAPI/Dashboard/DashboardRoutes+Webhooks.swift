import FetchJobs
import Hummingbird

// Webhooks: endpoints, deliveries, and sending them again.

extension DashboardRoutes {
    /// How many endpoints a page has: each has its forms.
    private static let endpointCount = 25

    var webhookRoutes: [Route] {
        [
            page(.get, WebhookPages.path, endpoints),
            page(.post, WebhookPages.enable) { try await setEndpoint($0, $1, disabled: false) },
            page(.post, WebhookPages.disable) { try await setEndpoint($0, $1, disabled: true) },
            page(.post, WebhookPages.rotate, rotateEndpoint),
            page(.post, WebhookPages.test, testEndpoint),
            page(.post, WebhookPages.replayFailed, replayFailed),
            page(.get, WebhookPages.deliveries, deliveries),
            page(.get, WebhookPages.delivery, delivery),
            page(.post, WebhookPages.replay, replayDelivery),
        ]
    }

    // MARK: Endpoints

    private func endpoints(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try query(call, "cursor")
        let view = try await view(query, call, session)
        let after = try query["cursor"].map { try Cursor<WebhookEndpoint.Kind>($0, filter: "").after }
        let now = Timestamp.now
        let part = try await ListPart.read(limit: Self.endpointCount, after: after, id: \.id) {
            try await ports.webhooks.endpoints(of: view.tenant, after: $0, limit: $1)
        } form: {
            (WebhookPages.row($0, view: view, now: now), bytes: 0)
        }
        let next = part.next { view.href(WebhookPages.path, ("cursor", Cursor(after: $0.id, filter: "").text)) }
        var sheet = sheet("Webhooks", call, view, hint: WebhookPages.hint)
        sheet.choices = WebhookPages.choices(view, current: WebhookPages.path)
        sheet.sections = [.init(table: WebhookPages.endpoints(part.shown.map(\.form), next: next))]
        return page(.sheet, sheet)
    }

    private func setEndpoint(_ call: Call, _ session: DashboardSession, disabled: Bool) async throws -> Response {
        _ = try await gate.form(of: call, in: session)
        _ = try await change(call, session) { endpoint in
            endpoint.disabling = disabled ? .init(at: .now, reason: .requested) : nil
            if !disabled { endpoint.failingSince = nil }
        }
        return Self.redirect(to: WebhookPages.path)
    }

    /// The only page that has a secret: the new one, once, as the API's answer has it.
    private func rotateEndpoint(_ call: Call, _ session: DashboardSession) async throws -> Response {
        _ = try await gate.form(of: call, in: session)
        let endpoint = try await change(call, session) { $0 = SecretRotation().applied(to: $0, at: .now) }
        var sheet = SheetPage(frame("New secret", call, session))
        sheet.notice = "This is shown once. Give it to the receiver within 24 hours: until then both secrets sign."
        sheet.sections = [
            .init(
                facts: .init(facts: [Fact(name: "Endpoint", value: "\(endpoint.id)")]), text: endpoint.secret.revealed)
        ]
        return page(.sheet, sheet)
    }

    private func testEndpoint(_ call: Call, _ session: DashboardSession) async throws -> Response {
        _ = try await gate.form(of: call, in: session)
        guard let id = WebhookEndpoint.ID(call.parameter),
            let delivery = try await ports.webhooks.test(id, of: session.tenant)
        else { throw Problem(.deliveryNotReplayable, "The endpoint is disabled or removed.") }
        return Self.redirect(to: "\(WebhookPages.deliveries)/\(delivery)")
    }

    /// Changes an endpoint as it is now; again when another request was faster.
    private func change(
        _ call: Call, _ session: DashboardSession, _ change: (inout WebhookEndpoint) -> Void
    ) async throws -> WebhookEndpoint {
        while true {
            guard let id = WebhookEndpoint.ID(call.parameter),
                var endpoint = try await ports.webhooks.endpoint(id, of: session.tenant)
            else { throw Problem(.notFound, "There is no endpoint with this id.") }
            change(&endpoint)
            if let changed = try await ports.webhooks.update(endpoint, rotation: nil) { return changed }
        }
    }

    private func replayFailed(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let hours = try await take(call, session) { try $0.integer("hours", in: 1...720, default: 720) }
        guard let id = WebhookEndpoint.ID(call.parameter),
            let endpoint = try await ports.webhooks.endpoint(id, of: session.tenant)
        else { throw Problem(.notFound, "There is no endpoint with this id.") }
        guard endpoint.disabling == nil else { throw Problem(.deliveryNotReplayable, "\(endpoint.id) is disabled.") }
        let since = Timestamp.now.advanced(by: .seconds(-3600 * hours))
        _ = try await ports.webhooks.replayFailed(of: id, session.tenant, since: since)
        return Self.redirect(to: "\(WebhookPages.deliveries)?endpoint=\(id)")
    }

    // MARK: Deliveries

    private func deliveries(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try query(call, "endpoint", "state", "event", "job", "cursor")
        let view = try await view(query, call, session)
        let filter = try DeliveryFilter(query)
        let digest = Cursor<WebhookDelivery.Kind>.digest(of: filter.text)
        let after = try query["cursor"].map { try Cursor<WebhookDelivery.Kind>($0, filter: digest).after }
        let items = try await ports.webhooks.deliveries(
            of: view.tenant, matching: filter, page: DeliveryPage(limit: Self.pageSize + 1, after: after))
        let part = ListPart(items, limit: Self.pageSize)
        let next = part.next {
            view.href(
                WebhookPages.deliveries, ("endpoint", query["endpoint"]), ("state", query["state"]),
                ("event", query["event"]), ("job", query["job"]),
                ("cursor", Cursor(after: $0.delivery.id, filter: digest).text))
        }
        var sheet = sheet(
            "Deliveries", call, view, hint: WebhookPages.deliveriesHint,
            fields: [
                .choice(
                    "state", "State", DeliveryState.allCases.map(\.rawValue), chosen: filter.state?.rawValue, all: "any"
                ),
                .choice(
                    "event", "Event", WebhookEvent.allCases.map(\.rawValue), chosen: filter.event?.rawValue, all: "any"),
                .text("endpoint", "Endpoint", query["endpoint"], hint: "whe_…"),
                .text("job", "Job", query["job"], hint: "job_…"),
            ])
        sheet.choices = WebhookPages.choices(view, current: WebhookPages.deliveries)
        sheet.sections = [.init(table: WebhookPages.table(part.shown, view: view, next: next, now: .now))]
        return page(.sheet, sheet)
    }

    private func delivery(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let view = try await view(try query(call), call, session)
        let item = try await found(call, view.tenant)
        var sheet = sheet("Delivery \(item.delivery.id)", call, view)
        sheet.search = nil
        sheet.sections = WebhookPages.sections(item, view: view, now: .now)
        return page(.sheet, sheet)
    }

    private func replayDelivery(_ call: Call, _ session: DashboardSession) async throws -> Response {
        _ = try await gate.form(of: call, in: session)
        let item = try await found(call, session.tenant)
        guard try await ports.webhooks.replay(item.delivery.id, of: session.tenant) else {
            throw Problem(.deliveryNotReplayable, "Its endpoint is \(item.delivery.endpoint).")
        }
        return Self.redirect(to: "\(WebhookPages.deliveries)/\(item.delivery.id)")
    }

    private func found(_ call: Call, _ tenant: Tenant.ID) async throws -> StoredDelivery {
        guard let id = WebhookDelivery.ID(call.parameter),
            let delivery = try await ports.webhooks.delivery(id, of: tenant)
        else { throw Problem(.notFound, "There is no delivery with this id.") }
        return delivery
    }
}
