import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

extension WebhookRoutes {
    func change(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        try call.requireContent("application/json", "application/merge-patch+json")
        let body = try await call.body(upTo: JobRoutes.maximumBody)
        let json = try JSONParser.parse(body.readableBytesView)
        let patch = try await KeyReading.shared.read(json, of: tenant, WebhookEndpointPatch.init(json:))
        if let url = patch.url, let refusal = await check(url, tenant) {
            throw InvalidInput(pointer: "/url", message: refusal)
        }
        return Self.response(
            to: try await update(call, tenant) { endpoint in
                guard patch.url == nil || endpoint.url != nil else {
                    throw InvalidInput(pointer: "/url", message: "is not for endpoints that are polled")
                }
                return patch.applied(to: endpoint, at: .now)
            })
    }

    func rotate(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        let key = try IdempotencyKey(of: call.headers)
        let rotation = try await Self.rotation(call)
        let name = key.map { "\($0.text) \(rotation.overlap.seconds)" }
        var isReplayed = false
        let endpoint = try await update(call, tenant, rotation: name) { endpoint in
            guard let key, let last = endpoint.rotation, last.hasPrefix("\(key.text) ") else {
                return rotation.applied(to: endpoint, at: .now)
            }
            guard last == name else {
                throw Problem(parameter: "Idempotency-Key", "was used for another body", code: .idempotencyKeyReused)
            }
            isReplayed = true
            return nil
        }
        var response = Self.response(to: endpoint, revealing: endpoint.secret)
        if isReplayed { response.headers[.idempotencyReplayed] = "true" }
        return response
    }

    /// The rotation in the body; the default one without a body.
    static func rotation(_ call: Call) async throws -> SecretRotation {
        let body = try await call.body(upTo: JobRoutes.maximumBody)
        guard body.readableBytes > 0 else { return SecretRotation() }
        try call.requireContent("application/json")
        return try SecretRotation(json: JSONParser.parse(body.readableBytesView))
    }

    /// Changes an endpoint as it is now; when the client names the version that it has seen, only if it still has that
    /// one (RFC 9110 §13.1.1).
    ///
    /// - Parameters:
    ///   - rotation: The key by which a repeat of this change is known.
    ///   - change: Returns the changed endpoint; nil when it stays.
    private func update(
        _ call: Call,
        _ tenant: Tenant.ID,
        rotation: String? = nil,
        _ change: (WebhookEndpoint) throws -> WebhookEndpoint?
    ) async throws -> WebhookEndpoint {
        while true {
            let endpoint = try await endpoint(call, tenant)
            let changed = try change(endpoint)
            guard let changed else { return endpoint }
            try changed.check()
            try endpoint.tag.require(by: call, of: "The endpoint")
            // Nil when another request has changed it first; the client then decides with the new state.
            if let changed = try await webhooks.update(changed, rotation: rotation) { return changed }
        }
    }
}

extension WebhookEndpoint {
    /// Its entity tag, whose version changes with what clients set and not with how messages fare.
    var tag: VersionTag { VersionTag(version: version) }
}
