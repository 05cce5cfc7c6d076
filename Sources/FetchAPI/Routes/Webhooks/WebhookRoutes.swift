import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

/// Registering, changing and removing webhook endpoints.
struct WebhookRoutes: Sendable {
    static let path = "/v1/webhooks/endpoints"

    let webhooks: any WebhookStore
    let known: KnownEndpoints
    let check: WebhookURLCheck

    var routes: [Route] {
        [
            Route(.post, Self.path, tenant: create),
            Route(.get, Self.path, tenant: list),
            Route(.get, "\(Self.path)/{id}", tenant: get),
            Route(.patch, "\(Self.path)/{id}", tenant: change),
            Route(.delete, "\(Self.path)/{id}", tenant: delete),
            Route(.post, "\(Self.path)/{id}/rotate", tenant: rotate),
            Route(.post, "\(Self.path)/{id}/test", tenant: test),
        ]
    }

    private func create(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        try call.requireContent("application/json")
        let body = try await call.body(upTo: JobRoutes.maximumBody)
        let json = try JSONParser.parse(body.readableBytesView)
        let spec = try await KeyReading.shared.read(json, of: tenant, WebhookEndpointSpec.init(json:))
        if let url = spec.url, let refusal = await check(url, tenant) {
            throw InvalidInput(pointer: "/url", message: refusal)
        }
        let key = try IdempotencyKey(of: call.headers)
        if let key, let first = try await first(of: key, tenant) {
            guard spec.describes(first) else {
                throw Problem(parameter: "Idempotency-Key", "was used for another body", code: .idempotencyKeyReused)
            }
            return Self.response(first, isReplayed: true)
        }
        let id = key.map { Self.id(for: $0, of: tenant) } ?? WebhookEndpoint.ID()
        let endpoint = spec.endpoint(id, of: tenant)
        try endpoint.check()
        guard try await webhooks.add(endpoint) else {
            let maximum = WebhookEndpoint.maximumCount
            throw InvalidInput(
                pointer: "", message: "is one endpoint more than the \(maximum) that a tenant may have: remove some")
        }
        return Self.response(endpoint)
    }

    private static func response(_ endpoint: WebhookEndpoint, isReplayed: Bool = false) -> Response {
        var response = response(status: .created, to: endpoint, revealing: endpoint.secret)
        response.headers[.location] = "\(path)/\(endpoint.id)"
        if isReplayed { response.headers[.idempotencyReplayed] = "true" }
        return response
    }

    // MARK: Repeats

    /// The result of a request with this key in the last 24 hours.
    private func first(of key: IdempotencyKey, _ tenant: Tenant.ID) async throws -> WebhookEndpoint? {
        let low = Self.id(for: key, of: tenant).uuid.low
        let since = Timestamp.now.advanced(by: .seconds(-24 * 3600))
        guard let id = try await webhooks.endpointID(.lowerHalf(low, since: since), of: tenant) else { return nil }
        return try await webhooks.endpoint(id, of: tenant)
    }

    /// An id of now whose other half is made from the key, so that a repeat finds the endpoint of the first request.
    private static func id(for key: IdempotencyKey, of tenant: Tenant.ID) -> WebhookEndpoint.ID {
        let digest = SHA256Digest(of: Array("\(tenant) \(key.text)".utf8)).bytes
        let half = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return WebhookEndpoint.ID(UUIDv7(high: UUIDv7().high, low: 0x8000_0000_0000_0000 | half >> 2))
    }

    // MARK: Reading and removing

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        try await .page(call, of: Self.path, id: \.id) { after, limit in
            try await webhooks.endpoints(of: tenant, after: after, limit: limit)
        } write: {
            $0.write(&$1)
        }
    }

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        return Self.response(to: try await endpoint(call, tenant)).unlessKnown(to: call)
    }

    private func delete(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        guard let id = WebhookEndpoint.ID(call.parameter), try await webhooks.remove(id, of: tenant) else {
            throw Self.notFound
        }
        known.forget(id, of: tenant)
        return Response(status: .noContent)
    }

    /// Each request is one message: who sends it twice gets two.
    private func test(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        try await call.ignoreBody(upTo: JobRoutes.maximumBody)
        let endpoint = try await endpoint(call, tenant)
        guard let id = try await webhooks.test(endpoint.id, of: tenant),
            let delivery = try await webhooks.delivery(id, of: tenant)
        else { throw Problem(.deliveryNotReplayable, "\(endpoint.id) is disabled or removed.") }
        var response = Response.json(status: .accepted) { delivery.writeWhole(&$0) }
        response.headers[.location] = "\(DeliveryRoutes.path)/\(id)"
        return response
    }

    func endpoint(_ call: Call, _ tenant: Tenant.ID) async throws -> WebhookEndpoint {
        guard let id = WebhookEndpoint.ID(call.parameter), let endpoint = try await webhooks.endpoint(id, of: tenant)
        else {
            throw Self.notFound
        }
        return endpoint
    }

    /// An endpoint, with the version that changes may name, and with its secret when that is shown.
    static func response(
        status: HTTPResponse.Status = .ok,
        to endpoint: WebhookEndpoint,
        revealing secret: WebhookSecret? = nil
    ) -> Response {
        var response = Response.json(status: status, endpoint.tag) { writer in
            endpoint.write(&writer)
            writer.member("secret", secret?.revealed)
        }
        // Nothing is made of a secret.
        if secret != nil { response.headers[.eTag] = endpoint.tag.text }
        return response
    }

    static let notFound = Problem(.notFound, "There is no webhook endpoint with this id.")
}
