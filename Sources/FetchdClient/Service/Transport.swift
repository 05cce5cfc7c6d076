import FetchEngine
import HTTPTypes

/// Sends calls over one pool of connections, and again when that is safe.
final class Transport: Sendable {
    /// How often a call is sent again.
    static let repeats = 3
    /// The service sends something of a stream at least every 15 seconds.
    private static let silence = Duration.seconds(45)
    /// More than any document of the service has.
    private static let maximumDocumentBytes: Int64 = 64 << 20

    private static let maximumProblemBytes = 1 << 20

    private let session: Session
    private let documents: SessionConfiguration
    private let timeout: Duration
    /// Where the service is and what each call carries, or why there can be none.
    private let target: Result<(base: String, key: APIKey), FetchdError>

    init(url: String?, key: APIKey, timeout: Duration) {
        self.timeout = timeout
        target = Result { () throws(FetchdError) in
            guard key.authorization != nil else {
                throw FetchdError(.keyInvalid, "The key is missing, or has a character that no key has.")
            }
            return (try Self.base(of: url), key)
        }
        var configuration = SessionConfiguration.ephemeral
        configuration.redirects.policy = .return
        configuration.httpCookieStorage = nil
        configuration.timeoutIntervalForResource = nil
        // Each follower of a job has a connection, and must not hold up the answers of others.
        configuration.httpMaximumConnectionsPerHost = 10_000
        session = Session(configuration: configuration)
        configuration.maximumResponseBytes = Self.maximumDocumentBytes
        documents = configuration
    }

    deinit { session.finishTasksAndInvalidate() }

    private static func base(of text: String?) throws(FetchdError) -> String {
        guard let text, let url = try? URLRecord(text), url.isHTTP, !url.hasCredentials, url.query == nil,
            url.fragment == nil
        else { throw FetchdError(.urlInvalid, "The URL of the service must be http or https, without user and query.") }
        var base = url.description
        while base.hasSuffix("/") { base.removeLast() }
        return base
    }

    private func request(_ call: Call, silence: Duration) throws(FetchdError) -> Request {
        let (base, key) = try target.get()
        guard let url = try? URLRecord(base + call.path) else {
            throw FetchdError(.urlInvalid, "A path begins with a slash.")
        }
        var request = Request(
            url: url, method: call.method, headerFields: call.headers, body: call.body,
            timeoutInterval: silence + call.patience)
        request.headerFields[.authorization] = key.authorization
        request.headerFields[.userAgent] = "fetchd-swift/1.0"
        return request
    }

    /// The answer to a call, which is sent up to three times more.
    func answer(_ call: Call) async throws(FetchdError) -> [UInt8] {
        var failures = 0
        while true {
            do throws(FetchdError) { return try await once(call) } catch {
                guard failures < Self.repeats, let delay = call.delay(after: error, failures) else { throw error }
                failures += 1
                try await pause(delay)
            }
        }
    }

    private func once(_ call: Call) async throws(FetchdError) -> [UInt8] {
        let request = try request(call, silence: timeout)
        let (body, response) = try await FetchdError.wrap { () async throws(LoadError) in
            try await session.data(for: request, configuration: documents)
        }
        try Self.check(response, body)
        return body
    }

    /// An answer that is read as it comes.
    func stream(_ call: Call) async throws(FetchdError) -> (ResponseBody, Response) {
        let request = try request(call, silence: Self.silence)
        let (body, response) = try await FetchdError.wrap { () async throws(LoadError) in
            try await session.bytes(for: request)
        }
        guard response.status.code >= 300 else { return (body, response) }
        let problem = try await FetchdError.wrap { () async throws(LoadError) in
            var problem: [UInt8] = []
            for try await chunk in body where problem.count < Self.maximumProblemBytes { problem += chunk }
            return problem
        }
        try Self.check(response, problem)
        return (body, response)
    }

    private static func check(_ response: Response, _ body: [UInt8]) throws(FetchdError) {
        let status = response.status.code
        if status >= 400 { throw FetchdError(problem: body, of: response) }
        guard status < 300 else {
            throw FetchdError(
                .answerInvalid, "The answer has the status \(status): no redirect is followed. See the service's URL.")
        }
    }

    /// The document that a call is answered with; null without content.
    func document(_ call: Call) async throws(FetchdError) -> JSONValue {
        let body = try await answer(call)
        return body.isEmpty ? .null : try decoded(body)
    }

    func value<Value: Decodable>(_ call: Call, as type: Value.Type = Value.self) async throws(FetchdError) -> Value {
        try decoded(try await answer(call))
    }
}

/// Waits, unless the task is cancelled.
func pause(_ duration: Duration) async throws(FetchdError) {
    do { try await Task.sleep(for: duration) } catch { throw FetchdError(.cancelled, "The call was cancelled.") }
}
