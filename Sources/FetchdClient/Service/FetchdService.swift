import Foundation
public import HTTPTypes

/// A service of Fetchd, as one tenant sees it.
///
/// Copies share one pool of connections, which is closed with the last of them.
///
/// ```swift
/// let service = FetchdService(url: "http://127.0.0.1:8080", key: .environment("FETCHD_KEY"))
/// let job = try await service.jobs.submit(Request("https://example.com/"), wait: .seconds(10))
/// print(job.state, job.response?.status.code ?? 0)
/// ```
public struct FetchdService: Sendable {
    let transport: Transport

    /// Makes a client; nothing is sent before the first call, which tells of a URL or key that cannot be used.
    ///
    /// - Parameters:
    ///   - url: Where the service is; the variable `FETCHD_URL` of the environment by default.
    ///   - key: The tenant's key.
    ///   - timeout: How long the service may be silent, beside the time that a call asks it to wait.
    public init(url: String? = nil, key: APIKey = .environment(), timeout: Duration = .seconds(30)) {
        let url = url ?? ProcessInfo.processInfo.environment["FETCHD_URL"]
        transport = Transport(url: url, key: key, timeout: timeout)
    }

    /// The jobs of the tenant.
    public var jobs: Jobs { Jobs(transport: transport) }
    /// The questions of its loads.
    public var questions: Questions { Questions(transport: transport) }
    /// Its sessions.
    public var sessions: Sessions { Sessions(transport: transport) }

    /// The events of all jobs, without end, from the endpoint that is both polled and the default one.
    ///
    /// The ``JobEvent/data`` of an event is its message: an object with `type`, `timestamp` and `data`.
    ///
    /// - Parameter lastEventID: The last event that was dealt with; from the first one that is kept by default.
    public func events(after lastEventID: String? = nil) -> JobEvents {
        JobEvents(
            transport: transport, path: "/v1/events", end: nil, lastEventID: lastEventID, repeats: Transport.repeats)
    }

    /// Asks for what has no method here, such as `/v1/flows/crawl`.
    ///
    /// A POST has an `Idempotency-Key`, so that a repeat changes nothing where the API takes one.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path, with its query.
    ///   - document: The body, as JSON.
    /// - Returns: The answer; null when it has no content.
    @discardableResult
    public func request(
        _ method: HTTPRequest.Method, _ path: String, _ document: JSONValue? = nil
    ) async throws(FetchdError) -> JSONValue {
        try await transport.document(Call(method, path).with(document))
    }
}
