import FetchEngine
public import Foundation
import HTTPTypes

/// What a job is beside its request.
public struct JobOptions: Sendable {
    /// The kind of its task; `data` by default.
    public var kind = Job.Kind.data
    /// The session it belongs to; the tenant's default session by default.
    public var session: String?
    /// How to load: a `LoadConfiguration` of the API; what is left out is the session's.
    public var configuration: JSONValue = [:]
    /// Words of the client about it, by which it is found.
    public var labels: [String: String] = [:]
    /// Of two jobs that wait, the one with more goes first: from 0 to 1.
    public var priority: Double?
    /// When it may begin; at once by default.
    public var runAt: Date?
    /// When it is given up.
    public var expiresAt: Date?
    /// The endpoint of a webhook that is told of it, `whe_…`.
    public var webhookEndpoint: String?

    /// Makes the defaults.
    public init() {}

    enum Member: String, CaseIterable {
        case kind, session, request, configuration, labels, priority, runAt, expiresAt, webhook
    }

    /// The submission of a job for a request.
    ///
    /// - Parameter body: The request's body, as the API writes it.
    func document(for request: Request, body: JSONValue?) -> JSONValue {
        var members: [Member: JSONValue] = [
            .kind: .string(kind.rawValue), .request: request.document(with: body), .configuration: configuration,
            .labels: .object(labels.mapValues { .string($0) }),
        ]
        members[.session] = session.map { .string($0) }
        members[.priority] = priority.map { .number($0) }
        members[.runAt] = runAt.map { .string($0.timestamp) }
        members[.expiresAt] = expiresAt.map { .string($0.timestamp) }
        members[.webhook] = webhookEndpoint.map { ["endpoint": .string($0)] }
        return .object(Dictionary(uniqueKeysWithValues: members.map { ($0.key.rawValue, $0.value) }))
    }
}

extension Request {
    /// The request as the API writes it.
    fileprivate func document(with body: JSONValue?) -> JSONValue {
        let document: JSONValue = [
            "url": .string(url.description), "method": .string(method.rawValue),
            "headers": .array(headerFields.documents), "body": body ?? .null,
            "cachePolicy": cachePolicy == .useProtocolCachePolicy ? .null : .string(cachePolicy.rawValue),
            "mainDocumentURL": mainDocumentURL.map { .string($0.description) } ?? .null,
        ]
        return document.withoutNulls
    }
}
