import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

/// The requests of QStash, so that its clients work against this service: `/v2/*`.
///
/// A message is an ordinary job, with labels that say what only QStash has words for.
enum QStashDoor {
    /// The name of the label that every message has.
    static let label = "qstash"
    static let labelOfQueue = "qstash.queue"
    static let labelOfKey = "qstash.key"
    static let labelOfGroup = "qstash.topic"
    static let labelOfEndpoint = "qstash.endpoint"
    static let labelOfURL = "qstash.url"
    static let labelOfCaller = "qstash.caller"
    static let labelOfSchedule = "qstash.schedule"
    /// Each of a message's own labels has the rest of its name.
    static let ownLabelPrefix = "qstash.label."

    static func serves(_ path: String) -> Bool { path.hasPrefix("/v2/") }

    /// What QStash has and this door has not.
    private static let missing: Set = ["stats"]

    /// The problem of a path that nothing is at.
    static func notFound(at path: String) -> Problem {
        guard serves(path) else { return Problem(.notFound, "There is no resource at this path.") }
        let name = path.split(separator: "/").dropFirst().first.map(String.init) ?? ""
        return missing.contains(name)
            ? notBuilt("/v2/\(name)") : Problem(.notFound, "There is nothing of QStash at this path.")
    }

    static func notBuilt(_ what: String) -> Problem { Problem(.invalidParameter, "\(what) is not built") }

    /// The token that a request has in its query in place of a field.
    static func token(of call: Call) -> String? {
        guard !call.headers.contains(.authorization), serves(call.request.uri.path) else { return nil }
        return RawQuery(call.request.uri.query).values("qstash_token").first
    }

    /// A problem as QStash's clients read one.
    static func response(to problem: Problem) -> Response {
        // They know no status for a body that is read and refused.
        let status = problem.code.status == .unprocessableContent ? .badRequest : problem.code.status
        var response = Response.json(status: status) { $0.member("error", problem.detail ?? problem.code.title) }
        for field in problem.headers where !field.name.canonicalName.hasPrefix("ratelimit") {
            response.headers[field.name] = field.value
        }
        guard status == .tooManyRequests else { return response }
        let quota = problem.headers[.rateLimitPolicy]?.split(separator: ";").first { $0.hasPrefix("q=") }?.dropFirst(2)
        response.headers[.burstLimit] = quota.map(String.init) ?? "0"
        response.headers[.burstRemaining] = "0"
        response.headers[.burstReset] = problem.headers[.retryAfter] ?? "1"
        return response
    }
}

extension HTTPField.Name {
    fileprivate static let burstLimit = Self("Burst-RateLimit-Limit")!
    fileprivate static let burstRemaining = Self("Burst-RateLimit-Remaining")!
    fileprivate static let burstReset = Self("Burst-RateLimit-Reset")!
}

extension Call {
    /// The parameter of the path as it is meant; as it is written where that is no encoding.
    var decodedParameter: String { parameter.percentDecoded ?? parameter }
}

/// The parameters of a query, in their order and with repeats, each with the text that it was written as.
struct RawQuery {
    private static let maximumCount = 1000

    let items: [(name: String, value: String, text: Substring)]

    init(_ text: String?) {
        items = (text ?? "").split(separator: "&", maxSplits: Self.maximumCount).map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (Self.plain(parts[0]), parts.count > 1 ? Self.plain(parts[1]) : "", pair)
        }
    }

    private static func plain(_ text: Substring) -> String {
        let spaced = text.replacing("+", with: " ")
        return spaced.percentDecoded ?? String(spaced)
    }

    func values(_ name: String) -> [String] { items.filter { $0.name.isSame(as: name) }.map(\.value) }
}
