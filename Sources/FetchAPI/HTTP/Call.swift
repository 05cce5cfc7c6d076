import FetchJobs
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// One request being answered.
struct Call: Sendable {
    var request: Request
    let id: RequestID
    /// The values of the parameters of the route in the path.
    let parameters: [String]
    let logger: Logger
    let channel: any Channel
    /// Nil where there is no network.
    let connection: Connection?
    /// The key that the request was made with; nil until it is known, and on routes for everyone.
    var key: APIKey?
    /// The place of the request in its trace; nil for none.
    var trace: TraceContext?

    /// The first parameter; empty when the route has none.
    var parameter: String { parameters.first ?? "" }

    /// The secret that stands elsewhere in the request, in place of the field for it.
    var bearer: String?

    var headers: HTTPFields {
        guard let bearer else { return request.headers }
        var fields = request.headers
        fields[.authorization] = "Bearer \(bearer)"
        return fields
    }

    /// The key that the request was made with.
    ///
    /// - Throws: ``Problem`` `unauthorized` on a route for everyone.
    func requireKey() throws -> APIKey {
        guard let key else { throw Authenticator.unauthorized }
        return key
    }

    /// Whether an operator of the service asks.
    var isOperator: Bool { key?.spec.scopes.contains(.admin) == true }

    /// The address of the caller, as far as a proxy in between is trusted; nil when its connection has no address.
    func client(through proxies: TrustedProxies) -> ClientNetwork? {
        proxies.client(
            of: channel.remoteAddress?.ipAddress, forwarded: headers[values: .forwarded],
            forwardedFor: headers[values: .xForwardedFor])
    }

    /// Whether an origin (RFC 6454) is that of the service's own pages, as the request names the service.
    func isOwn(origin: String) -> Bool {
        guard let authority = request.head.authority else { return false }
        return origin == "https://\(authority)" || origin == "http://\(authority)"
    }

    /// The query, which may have these parameters and no others.
    func query(allowing names: Set<String> = []) throws -> Query {
        guard let text = request.uri.query, !text.isEmpty else { return Query() }
        let query = try Query(text)
        if let unknown = query.names.first(where: { !names.contains($0) }) {
            throw Problem(parameter: unknown, "is not a parameter that is known here")
        }
        return query
    }

    /// The whole body, which may have up to `limit` bytes.
    func body(upTo limit: Int) async throws -> ByteBuffer {
        try requireLength(upTo: limit)
        var body = ByteBuffer()
        for try await var chunk in request.body {
            guard body.readableBytes + chunk.readableBytes <= limit else { throw Self.tooLarge(limit) }
            if body.readableBytes == 0 { body = chunk } else { body.writeBuffer(&chunk) }
        }
        return body
    }

    /// A submission: a JSON body, a key of the client's when it gave one, and no query.
    func submission(upTo limit: Int) async throws -> (json: JSONValue, key: IdempotencyKey?) {
        _ = try query()
        try requireContent("application/json")
        let key = try IdempotencyKey(of: headers)
        return (try JSONParser.parse(try await body(upTo: limit).readableBytesView), key)
    }

    /// Takes in a body that has nothing to add to the request.
    func ignoreBody(upTo limit: Int) async throws { _ = try await body(upTo: limit) }

    /// Refuses a body whose `Content-Length` is too large, before any of it is read (SEC-44).
    func requireLength(upTo limit: Int) throws {
        guard let field = headers.value(of: .contentLength) else { return }
        guard let length = Int64(field), length >= 0 else { throw Problem(.malformedRequest) }
        if length > Int64(limit) { throw Self.tooLarge(limit) }
    }

    /// Refuses a body that is not of one of these media types, in plain.
    func requireContent(_ types: String...) throws {
        let isPlain = headers.value(of: .contentEncoding).map { $0.lowercased() == "identity" } ?? true
        guard isPlain, let field = headers.value(of: .contentType),
            types.contains(field) || types.contains(Self.mediaType(in: field))
        else {
            throw Problem(
                .unsupportedMediaType,
                "The body must be \(types.joined(separator: " or ")), without a content coding."
            )
        }
    }

    /// The media type of a field's value, without its parameters.
    private static func mediaType(in field: String) -> String {
        String(field.prefix { $0 != ";" }.lowercased().trimmingPrefix { $0 == " " }.prefix { $0 != " " })
    }

    static func tooLarge(_ limit: Int) -> Problem {
        var problem = Problem(.contentTooLarge, "The body may have \(limit) bytes.")
        // The rest of the body is not worth reading.
        problem.headers[.connection] = "close"
        return problem
    }
}
