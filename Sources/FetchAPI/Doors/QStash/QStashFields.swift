import FetchJobs
import Foundation
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

    /// By their names in lower case, without `upstash-`.
    private var controls: [String: String] = [:]
    /// Those that are sent to the destination.
    private(set) var forwarded: [(name: String, value: String)] = []
    private(set) var contentType: String?

    /// - Parameter query: Its parameters count where no field says the same.
    init(_ fields: [(name: String, value: String)], query: RawQuery = RawQuery(nil)) {
        let queried = query.items.map { (name: $0.name, value: $0.value) }
        for (name, value) in fields + queried.filter({ $0.name.hasPrefix(Self.prefix) }) {
            let lower = name.lowercased()
            if lower.hasPrefix(Self.forwardPrefix) {
                // What the service says of a message is its own to say.
                let rest = String(name.dropFirst(Self.forwardPrefix.utf8.count))
                if !rest.lowercased().hasPrefix(Self.prefix) { forwarded.append((rest, value)) }
            } else if lower.hasPrefix(Self.prefix) {
                let control = String(lower.dropFirst(Self.prefix.utf8.count))
                if controls[control] == nil { controls[control] = value }
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

    subscript(_ name: String) -> String? { controls[name] }

    /// Those of a message that is sent once, at a time of its own.
    private static let ofMessages: Set = [
        "delay", "not-before", "deduplication-id", "content-based-deduplication",
    ]
    private static let ofSchedules: Set = ["cron", "schedule-id"]

    /// Refuses what is not built, as a message without what it asks for is another one, and what says nothing here.
    func require(ofSchedule: Bool) throws(Problem) {
        for name in controls.keys.sorted() {
            if name.hasPrefix("callback") || name.hasPrefix("failure-callback") || name == "redact-fields" {
                throw QStashDoor.notBuilt("Upstash-\(Self.canonical(name))")
            }
            if ofSchedule, Self.ofMessages.contains(name) {
                throw refusal(name, "is not for schedules: they say when their messages are sent")
            }
            if !ofSchedule, Self.ofSchedules.contains(name) {
                throw refusal(name, "is for POST /v2/schedules/{destination}")
            }
        }
    }

    /// `content-type` as `Content-Type`.
    static func canonical(_ name: String) -> String {
        name.split(separator: "-", omittingEmptySubsequences: false)
            .map { $0.prefix(1).uppercased() + $0.dropFirst().lowercased() }.joined(separator: "-")
    }

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
        Problem(.invalidParameter, "Upstash-\(Self.canonical(name)) \(message)")
    }
}
