import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

/// Which messages a request means: by their ids, or by a filter; without either, all.
///
/// Clients write it in the query or in a JSON body.
struct QStashSelection {
    private static let maximumIDs = 10_000

    /// Those that can be ids of jobs.
    private(set) var ids: [Job.ID]?
    private(set) var filter = JobFilter()
    /// How many at most; nil when the request does not say it.
    private(set) var count: Int?
    /// The last one of the page before.
    private(set) var cursor: Job.ID?

    private static let names: Set = [
        "queueName", "url", "label", "flowControlKey", "callerIp", "callerIP", "fromDate", "toDate", "count",
        "topicName",
    ]
    /// Those for messages that were given up.
    private static let namesOfFailed: Set = ["messageId", "scheduleId", "responseStatus", "cursor"]

    /// - Parameters:
    ///   - name: What the list of ids is called.
    ///   - areFailed: Whether it may say more, of messages that were given up.
    init(_ call: Call, ids name: String, areFailed: Bool = false) async throws {
        let query = RawQuery(call.request.uri.query)
        let body = try await call.body(upTo: QStashOrder.maximumBody)
        let json = body.readableBytes == 0 ? .object([]) : try JSONParser.parse(body.readableBytesView)
        let check = InputCheck()
        let names = Self.names.union(areFailed ? Self.namesOfFailed : []).union([name])
        guard let object = JSONReader(json, check: check).object(of: names) else { throw Problem(.invalidInput) }
        let given = object[name]?.array(maximum: Self.maximumIDs)?.compactMap { $0.string(maximumLength: 128) }
        try check.finish()
        for name in query.items.map(\.name) where !names.contains(name) && name != "qstash_token" {
            throw Problem(parameter: name, "is not a parameter that is known here")
        }
        let asked = query.values(name).flatMap { $0.split(separator: ",").map(String.init) }
        if given != nil || !asked.isEmpty {
            let all = (given ?? []) + asked
            guard all.count <= Self.maximumIDs else { throw Problem(.invalidParameter, "\(name) has too many ids") }
            ids = all.compactMap { Job.ID($0) }
        }
        func text(_ name: String) -> String? { object[name]?.string(maximumLength: 16_384) ?? query.values(name).first }
        func number(_ name: String) throws -> Int64? {
            if let number = object[name]?.integer(in: 0...Int64.max / 1000) { return number }
            guard let text = query.values(name).first else { return nil }
            guard let number = Int64(text), (0...Int64.max / 1000).contains(number) else {
                throw Problem(parameter: name, "must be a whole number")
            }
            return number
        }
        filter.labels = Self.labels(text)
        filter.createdAfter = try number("fromDate").map { Timestamp(microseconds: $0 * 1000) }
        filter.createdBefore = try number("toDate").map { Timestamp(microseconds: $0 * 1000) }
        count = try number("count").map { Int($0) }
        if areFailed { try readFailed(text, number) }
        try check.finish()
    }

    static func labels(_ text: (String) -> String?) -> [JobSpec.Label] {
        var labels = [JobSpec.Label(name: QStashDoor.label, value: "message")]
        func add(_ label: String, _ value: String?) {
            if let value { labels.append(JobSpec.Label(name: label, value: value)) }
        }
        add(QStashDoor.labelOfGroup, text("topicName"))
        add(QStashDoor.labelOfQueue, text("queueName"))
        add(QStashDoor.labelOfKey, text("flowControlKey"))
        add(QStashDoor.labelOfCaller, text("callerIp") ?? text("callerIP"))
        add(QStashDoor.labelOfSchedule, text("scheduleId"))
        if let url = text("url") { labels.append(QStashMessage.label(ofURL: url)) }
        if let label = text("label") { add(QStashDoor.ownLabelPrefix + label, label) }
        return labels
    }

    private mutating func readFailed(_ text: (String) -> String?, _ number: (String) throws -> Int64?) throws {
        filter.state = .failed
        // A message is in the list once, under its own id.
        if let message = text("messageId") { ids = (ids ?? []) + [Job.ID(message)].compactMap(\.self) }
        if let status = try number("responseStatus") {
            guard let status = StatusFilter("\(status)") else {
                throw Problem(parameter: "responseStatus", StatusFilter.rule)
            }
            filter.status = status
        }
        if let text = text("cursor"), !text.isEmpty {
            guard let id = Job.ID(text) else {
                throw Problem(parameter: "cursor", "must be the cursor of an earlier answer")
            }
            cursor = id
        }
    }
}
