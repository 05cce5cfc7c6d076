package import FetchEngine

/// The submission of an endpoint.
///
/// The caller asks the guard whether the address may be reached at all (SEC-35).
package struct WebhookEndpointSpec: Sendable {
    /// Where messages are sent; nil for an endpoint that is polled.
    package let url: URLRecord?
    package let events: [WebhookEvent]
    package let isDefault: Bool
    package let serverTrust: Configuration.ServerTrust
    package let clientIdentity: ClientIdentity?

    /// Reads and checks the body of a request for a new endpoint.
    ///
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue) throws(InvalidInput) {
        let check = InputCheck()
        let reader = JSONReader(json, check: check)
        let object = reader.object(of: ["url", "polled", "events", "default", "serverTrust", "clientCertificate"])
        let isPolled = object?["polled"]?.bool() ?? false
        if isPolled {
            object?["url"]?.refuse("cannot be beside polled: nothing is sent")
            url = nil
        } else {
            if object?["url"] == nil { check.refuse("/url", "is required, or polled") }
            url = object?["url"]?.webhookURL()
        }
        let events = object?["events"]?.webhookEvents()
        isDefault = object?["default"]?.bool() ?? false
        serverTrust = object?["serverTrust"].map { Configuration.ServerTrust(reader: $0) } ?? .init()
        clientIdentity = object?["clientCertificate"].flatMap { ClientIdentity(reader: $0) }
        try check.finish()
        self.events = events ?? WebhookEvent.ends
    }

    /// The endpoint that is asked for.
    package func endpoint(_ id: WebhookEndpoint.ID, of tenant: Tenant.ID) -> WebhookEndpoint {
        var endpoint = WebhookEndpoint(id: id, tenant: tenant, url: url, events: events)
        endpoint.isDefault = isDefault
        endpoint.serverTrust = serverTrust
        endpoint.clientIdentity = clientIdentity
        return endpoint
    }

    /// Whether an endpoint equals this spec.
    package func describes(_ endpoint: WebhookEndpoint) -> Bool {
        endpoint.url == url && endpoint.events == events && endpoint.isDefault == isDefault
            && endpoint.serverTrust == serverTrust && endpoint.clientIdentity == clientIdentity
    }
}

/// A change of an endpoint; members that are nil change nothing.
package struct WebhookEndpointPatch: Sendable {
    package let url: URLRecord?
    package let events: [WebhookEvent]?
    package let isDefault: Bool?
    package let enabled: Bool?
    package let serverTrust: Configuration.ServerTrust?
    package let clientIdentity: ClientIdentity?
    /// The endpoint is to have no certificate any more.
    package let removesIdentity: Bool

    /// Reads and checks the body of a request to change an endpoint.
    ///
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue) throws(InvalidInput) {
        let check = InputCheck()
        let object = JSONReader(json, check: check).object(of: [
            "url", "events", "default", "enabled", "serverTrust", "clientCertificate",
        ])
        url = object?["url"]?.webhookURL()
        events = object?["events"]?.webhookEvents()
        isDefault = object?["default"]?.bool()
        enabled = object?["enabled"]?.bool()
        serverTrust = object?["serverTrust"].map {
            $0.value == .null ? .init() : Configuration.ServerTrust(reader: $0)
        }
        let certificate = object?["clientCertificate"]
        removesIdentity = certificate?.value == .null
        clientIdentity = removesIdentity ? nil : certificate.flatMap { ClientIdentity(reader: $0) }
        try check.finish()
    }

    /// The endpoint with the changes.
    ///
    /// Another address is another receiver, and one that was enabled has a new start: neither has failed yet.
    package func applied(to endpoint: WebhookEndpoint, at time: Timestamp) -> WebhookEndpoint {
        var changed = endpoint
        if let url, url != endpoint.url {
            changed.url = url
            changed.failingSince = nil
        }
        if let events { changed.events = events }
        changed.isDefault = isDefault ?? endpoint.isDefault
        changed.serverTrust = serverTrust ?? endpoint.serverTrust
        changed.clientIdentity = removesIdentity ? nil : clientIdentity ?? endpoint.clientIdentity
        switch enabled {
        case true? where endpoint.disabling != nil:
            changed.disabling = nil
            changed.failingSince = nil
        case false? where endpoint.disabling == nil:
            changed.disabling = .init(at: time, reason: .requested)
        case true?, false?, nil: break
        }
        return changed
    }
}

/// How a receiver of messages gets a new secret.
package struct SecretRotation: Sendable, Equatable {
    /// How long messages are signed with the old one as well.
    package let overlap: Duration

    package init(overlap: Duration = .seconds(24 * 3600)) { self.overlap = overlap }

    /// Reads and checks the body of a request for a new secret.
    ///
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue) throws(InvalidInput) {
        let check = InputCheck()
        let object = JSONReader(json, check: check).object(of: ["overlap"])
        let overlap = object?["overlap"]?.number(in: 0...604_800)
        try check.finish()
        self.init()
        if let overlap { self = Self(overlap: .microseconds(Int64(overlap * 1_000_000))) }
    }

    /// The receiver with a new secret; a rotation within another's overlap drops the oldest secret.
    package func applied<Receiver: MessageReceiver>(to receiver: Receiver, at time: Timestamp) -> Receiver {
        var changed = receiver
        changed.secret = WebhookSecret()
        changed.previousSecret =
            overlap > .zero ? .init(secret: receiver.secret, until: time.advanced(by: overlap)) : nil
        return changed
    }
}

extension JSONReader {
    func endpointID() -> WebhookEndpoint.ID? {
        guard let text = string(maximumLength: 64) else { return nil }
        guard let endpoint = WebhookEndpoint.ID(text) else {
            refuse("is not the id of an endpoint (whe_…)")
            return nil
        }
        return endpoint
    }

    func webhookURL() -> URLRecord? { httpURL(userInfoCode: "webhookURLForbidden") }

    func webhookEvents() -> [WebhookEvent]? {
        let events = array(maximum: 32)?.compactMap { $0.oneOf(WebhookEvent.self) }
        if events?.isEmpty == true { refuse("must name at least one event") }
        return events
    }
}
