import FetchJobs
import HTTPTypes

/// What the fields of a message, or the parameters of a query that stand for them, say about its delivery.
struct QStashFields {
    private static let prefix = "upstash-"
    private static let forwardPrefix = "upstash-forward-"
    /// Fields that a message has for the service, and not for its destination.
    private static let ownFields: Set = [
        "authorization", "host", "content-length", "connection", "user-agent", "accept-encoding", "transfer-encoding",
        "keep-alive", "te", "trailer", "upgrade", "expect", "content-type", "cookie", "forwarded",
    ]

    /// What their names begin with.
    private let title: String
    /// By their names in lower case, without `upstash-`.
    private var controls: [String: String] = [:]
    /// What says how callbacks are sent.
    private(set) var callbacks: [JobCallback.Occasion: QStashFields] = [:]
    /// Those that are sent to the destination.
    private(set) var forwarded: [(name: String, value: String)] = []
    private(set) var contentType: String?

    /// - Parameter query: Its parameters count where no field says the same.
    init(_ fields: [(name: String, value: String)], query: RawQuery = RawQuery(nil)) {
        title = "Upstash-"
        let queried = query.items.map { (name: $0.name, value: $0.value) }
        for (name, value) in fields + queried.filter({ $0.name.hasPrefix(Self.prefix) }) {
            let lower = name.lowercased()
            if lower.hasPrefix(Self.forwardPrefix) {
                // What the service says of a message is its own to say.
                let rest = String(name.dropFirst(Self.forwardPrefix.utf8.count))
                if !rest.lowercased().hasPrefix(Self.prefix) { forwarded.append((rest, value)) }
            } else if lower.hasPrefix(Self.prefix) {
                add(String(name.dropFirst(Self.prefix.utf8.count)), value)
            } else if lower == "content-type" {
                contentType = value
            }
        }
        guard controls["header-forward"]?.lowercased() == "true" else { return }
        for (name, value) in fields {
            let lower = name.lowercased()
            if lower.hasPrefix(Self.prefix) || lower.hasPrefix("x-forwarded-") || lower.hasPrefix("proxy-")
                || Self.ownFields.contains(lower)
            {
                continue
            }
            if !forwarded.contains(where: { $0.name.lowercased() == lower }) { forwarded.append((name, value)) }
        }
    }

    /// Those of a callback.
    private init(of occasion: JobCallback.Occasion) { title = "Upstash-\(Self.canonical(occasion.control))-" }

    /// Takes a field that says something about the message, or about a callback.
    private mutating func add(_ name: String, _ value: String) {
        let lower = name.lowercased()
        for occasion in JobCallback.Occasion.allCases where lower.hasPrefix(occasion.control + "-") {
            let rest = String(name.dropFirst(occasion.control.utf8.count + 1))
            callbacks[occasion, default: QStashFields(of: occasion)].addOfCallback(rest, value)
            return
        }
        if controls[lower] == nil { controls[lower] = value }
    }

    private static let ofCallbacks: Set = ["method", "retries", "retry-delay", "timeout"]
    /// What messages have, and callbacks have not.
    private static let notOfCallbacks: Set = [
        "delay", "not-before", "label", "queue-name", "flow-control-key", "flow-control-value", "deduplication-id",
        "content-based-deduplication", "redact-fields", "callback", "failure-callback", "header-forward",
    ]

    /// What has no meaning here is forwarded: clients write `Upstash-Callback-X-Own` for `Upstash-Callback-Forward-X-Own`.
    private mutating func addOfCallback(_ name: String, _ value: String) {
        let lower = name.lowercased()
        if Self.ofCallbacks.contains(lower) || Self.notOfCallbacks.contains(lower) {
            if controls[lower] == nil { controls[lower] = value }
        } else {
            let forward = "forward-"
            let rest = lower.hasPrefix(forward) ? String(name.dropFirst(forward.utf8.count)) : name
            if !rest.lowercased().hasPrefix(Self.prefix) { forwarded.append((rest, value)) }
        }
    }

    subscript(_ name: String) -> String? { controls[name] }

    /// Those of a message that is sent once, at a time of its own.
    private static let ofMessages: Set = [
        "delay", "not-before", "deduplication-id", "content-based-deduplication",
    ]
    private static let ofSchedules: Set = ["cron", "schedule-id"]

    /// Refuses what is not built, as a message without what it asks for is another one, and what says nothing here.
    func require(ofSchedule: Bool) throws(Problem) {
        for name in controls.keys.sorted() {
            if ofSchedule, Self.ofMessages.contains(name) {
                throw refusal(name, "is not for schedules: they say when their messages are sent")
            }
            if !ofSchedule, Self.ofSchedules.contains(name) {
                throw refusal(name, "is for POST /v2/schedules/{destination}")
            }
        }
        for (occasion, fields) in callbacks.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            if let name = fields.controls.keys.sorted().first(where: Self.notOfCallbacks.contains) {
                throw fields.refusal(name, "is not built")
            }
            if self[occasion.control] == nil {
                let name = "Upstash-\(Self.canonical(occasion.control))"
                throw Problem(.invalidParameter, "Fields \(name)-* need \(name)")
            }
        }
    }

    /// `content-type` as `Content-Type`.
    static func canonical(_ name: String) -> String { HTTPField.inTitleCase(name) }

    // MARK: Values

    func integer(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        guard let text = self[name] else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw refusal(name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    /// A time such as `1d10h30m`.
    func duration(_ name: String) throws(Problem) -> Duration? {
        guard let text = self[name] else { return nil }
        guard let duration = Duration(units: text) else {
            throw refusal(name, "must be a time such as 10s or 1d10h30m")
        }
        return duration
    }

    func isTrue(_ name: String) -> Bool { self[name]?.lowercased() == "true" }

    func refusal(_ name: String, _ message: String) -> Problem {
        Problem(.invalidParameter, "\(title)\(Self.canonical(name)) \(message)")
    }
}

extension JobCallback.Occasion {
    /// What the fields about it are called, and begin with, in lower case and without `upstash-`.
    var control: String {
        switch self {
        case .attempt: "callback"
        case .failure: "failure-callback"
        }
    }
}
