import FetchEngine
import Foundation
import HTTPTypes

/// One request to the service, the same in all its repeats.
struct Call: Sendable {
    /// How long the service holds an answer at most.
    static let longestWait = Duration.seconds(60)

    var method: HTTPRequest.Method
    /// The path, with its query.
    var path: String
    var headers: HTTPFields = [:]
    var body: RequestBody?
    /// Whether it may be sent again although it may have arrived.
    var isRepeatable = true
    /// How long the service is asked to hold its answer.
    var patience = Duration.zero

    /// - Parameters:
    ///   - query: What has no value is left out.
    ///   - key: The `Idempotency-Key` of a POST; one of its own by default.
    init(
        _ method: HTTPRequest.Method, _ path: String, query: [(String, String?)] = [], key: String? = nil,
        wait: Duration? = nil
    ) {
        self.method = method
        let pairs = query.compactMap { name, value in value.map { "\(name)=\(Self.escaped($0))" } }
        self.path = pairs.isEmpty ? path : "\(path)?\(pairs.joined(separator: "&"))"
        if method == .post { headers[.idempotencyKey] = key ?? UUID().uuidString }
        guard let wait else { return }
        patience = min(max(wait, .zero), Self.longestWait)
        headers[.prefer] = "wait=\(patience.components.seconds)"
    }

    /// The same with a document as its body.
    func with(_ document: JSONValue?) -> Call {
        guard let document else { return self }
        var call = self
        call.body = .bytes(document.encoded)
        call.headers[.contentType] = "application/json"
        return call
    }

    /// The path of one thing, whose id is one segment of it whatever it has in it.
    static func path(_ parts: String...) -> String { "/v1/" + parts.map(escaped).joined(separator: "/") }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~")

    private static func escaped(_ text: String) -> String {
        // A segment of dots would lead elsewhere.
        guard !text.allSatisfy({ $0 == "." }) else { return String(repeating: "%2E", count: text.count) }
        return text.addingPercentEncoding(withAllowedCharacters: unreserved.union(CharacterSet(charactersIn: ".")))
            ?? ""
    }

    /// How long to wait before it is sent again after a failure; nil when it is not.
    func delay(after error: FetchdError, _ failures: Int) -> Duration? {
        switch error.status {
        // These refuse a call before anything is done.
        case 429, 503: error.retryAfter ?? .backoff(failures)
        // Its first try is being carried out, whose answer is that of the next one.
        case 409 where error.code == .idempotencyKeyInUse: error.retryAfter
        case 502, 504: isRepeatable ? error.retryAfter ?? .backoff(failures) : nil
        case nil where error.code == .connectionFailed && (isRepeatable || error.isBeforeSending): .backoff(failures)
        default: nil
        }
    }
}

extension Duration {
    /// The time before the next try: it doubles from a quarter of a second up to 8, and half of it is chance.
    static func backoff(_ failures: Int) -> Duration {
        .milliseconds(min(8000, 250 << min(failures, 5))) * Double.random(in: 0.5...1)
    }
}
