import HTTPTypes

@testable import FetchEngine

/// The moment at which the tests' requests are sent: Tue, 14 Nov 2023 22:13:20 GMT.
let sendingTime = UnixTime(seconds: 1_700_000_000)

extension UnixTime {
    static func + (time: UnixTime, seconds: Int) -> UnixTime { time.advanced(by: .seconds(seconds)) }
}

/// Dates around ``sendingTime``, as fields have them.
enum Dates {
    static let now = "Tue, 14 Nov 2023 22:13:20 GMT"
    static let inAMinute = "Tue, 14 Nov 2023 22:14:20 GMT"
    static let aMinuteAgo = "Tue, 14 Nov 2023 22:12:20 GMT"
    static let tenDaysAgo = "Sat, 04 Nov 2023 22:13:20 GMT"
    static let aYearAgo = "Mon, 14 Nov 2022 22:13:20 GMT"
}

extension HTTPFields {
    /// Fields by lines such as `Age: 3`.
    init(lines: [String]) {
        self.init()
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            append(HTTPField(name: HTTPField.Name(String(parts[0]))!, value: String(Substring(parts[1]).trimmed)))
        }
    }
}

extension Request {
    static func make(
        _ method: HTTPRequest.Method = .get, _ url: String = "http://origin.test/a?b=c", _ lines: String...
    ) throws -> Request { Request(url: try URLRecord(url), method: method, headerFields: HTTPFields(lines: lines)) }
}

extension Response {
    static func make(_ code: Int = 200, _ lines: String...) throws -> Response {
        Response(
            url: try URLRecord("http://origin.test/a?b=c"), status: .init(code: code),
            headerFields: HTTPFields(lines: lines),
            expectedContentLength: 4)
    }
}

extension CacheEntry {
    /// The entry of a response that came a moment after its request was sent.
    static func make(
        _ response: Response, to request: Request? = nil, at time: UnixTime = sendingTime
    ) throws -> CacheEntry {
        let request = request ?? Request(url: response.url)
        var entry = CacheEntry(for: response, to: request, sentAt: time, receivedAt: time)!
        entry.bodyLength = 4
        return entry
    }
}

extension CacheMachine {
    init(
        _ request: Request, policy: CachePolicy = .useProtocolCachePolicy,
        configuration: CachingConfiguration = CachingConfiguration(), now: UnixTime = sendingTime
    ) { self.init(request: request, policy: policy, configuration: configuration, now: now) }
}

extension CachingConfiguration {
    static var shared: CachingConfiguration {
        var configuration = CachingConfiguration()
        configuration.audience = .shared
        return configuration
    }
}

extension CacheMachine.Answer {
    /// The decision in one word, with the fields that the machine added to a request.
    var summary: String {
        switch self {
        case .serve(_, let response, let refreshing):
            "serve \(response.status.code)" + (refreshing ? " refreshing" : "")
        case .send(let fields): fields.reduce("send") { "\($0)|\($1.name): \($1.value)" }
        case .respond(let response): "respond \(response.status.code)"
        case .fail(let error): "fail \(error.code)"
        }
    }
}

extension CacheMachine.Reception {
    /// The decision in one word.
    var summary: String {
        switch action {
        case .deliver: "deliver"
        case .deliverAndStore: "store"
        case .serve(_, let response): "serve \(response.status.code)"
        case .sendAgain: "again"
        }
    }
}
