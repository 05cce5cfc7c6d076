import FetchJobs
import HTTPTypes
import Hummingbird

/// What happened to messages, made from jobs and their attempts: the newest message first, and of each the newest entry.
struct QStashLogRoutes: Sendable {
    private static let standardCount: Int64 = 100
    private static let maximumCount: Int64 = 1000
    private static let maximumIDs = 100
    private static let pageSize = 100
    /// How many jobs are read whole and held at once.
    private static let jobsAtOnce = 10
    /// How many pages of jobs one answer looks at; where it ends, the cursor goes on.
    private static let maximumPages = 10

    let jobs: any JobStore

    var routes: [Route] {
        [
            Route(.get, "/v2/logs", tenant: { try await list("logs", $0, $1) }),
            Route(.get, "/v2/events", tenant: { try await list("events", $0, $1) }),
        ]
    }

    private func list(_ name: String, _ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let question = try Question(RawQuery(call.request.uri.query))
        var page = Page(question)
        try await fill(&page, question, tenant)
        return .json { writer in
            writer.member("cursor", page.cursor?.description)
            writer.member(
                name,
                array: { writer in
                    for (entry, spec) in page.entries { writer.object { entry.write(of: spec, &$0) } }
                })
        }
    }

    private func fill(_ page: inout Page, _ question: Question, _ tenant: Tenant.ID) async throws {
        // The message at which the page before has ended.
        if let cursor = question.cursor, cursor.count > 0 {
            guard try await take([cursor.job], into: &page, tenant, upTo: cursor.count) else { return }
        }
        if let ids = question.ids {
            let rest = Set(ids).filter { id in question.cursor.map { id < $0.job } ?? true }
            _ = try await take(rest.sorted(by: >), into: &page, tenant)
            return
        }
        var last = question.cursor?.job
        for _ in 0..<Self.maximumPages {
            try Task.checkCancellation()
            let found = try await jobs.jobs(
                of: tenant, matching: question.filter, page: JobPage(limit: Self.pageSize, after: last))
            guard try await take(found.map(\.id), into: &page, tenant) else { return }
            guard let rest = found.rest else { return }
            last = rest
        }
        page.cursor = last.map { Cursor(job: $0, count: 0) }
    }

    /// - Parameter count: How many entries of the message are wanted, the oldest; nil for all.
    /// - Returns: false when the page is full.
    private func take(
        _ ids: [Job.ID], into page: inout Page, _ tenant: Tenant.ID, upTo count: Int? = nil
    ) async throws -> Bool {
        // A page that is full after a few jobs reads no others.
        for start in stride(from: 0, to: ids.count, by: Self.jobsAtOnce) {
            let part = ids[start..<min(start + Self.jobsAtOnce, ids.count)]
            for job in try await jobs.jobs([tenant: Set(part)]).sorted(by: { $0.id > $1.id }) {
                guard take(job, into: &page, upTo: count) else { return false }
            }
        }
        return true
    }

    private func take(_ job: Job, into page: inout Page, upTo count: Int?) -> Bool {
        guard let spec = job.storedSpec, page.question.filter.matches(job), QStashMessage.isMessage(spec) else {
            return true
        }
        let entries = QStashLogEntry.all(of: job, spec)
        for (index, entry) in entries.enumerated().prefix(count ?? .max).reversed() where page.wants(entry) {
            guard page.entries.count < page.question.count else {
                page.cursor = Cursor(job: job.id, count: index + 1)
                return false
            }
            page.entries.append((entry, spec))
        }
        return true
    }

    private struct Page {
        let question: Question
        var entries: [(QStashLogEntry, JobSpec)] = []
        var cursor: Cursor?

        init(_ question: Question) { self.question = question }

        func wants(_ entry: QStashLogEntry) -> Bool {
            (question.state.map { entry.state == $0 } ?? true) && (question.from.map { entry.time >= $0 } ?? true)
                && (question.to.map { entry.time <= $0 } ?? true)
        }
    }

    /// Where a list goes on: with the oldest entries of a message, then with the messages before it.
    private struct Cursor: CustomStringConvertible {
        let job: Job.ID
        let count: Int

        var description: String { "\(job).\(count)" }

        init(job: Job.ID, count: Int) { (self.job, self.count) = (job, count) }

        init?(_ text: String) {
            let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let job = Job.ID(String(parts[0])), let count = Int(parts[1]), count >= 0 else {
                return nil
            }
            self.init(job: job, count: count)
        }
    }

    private struct Question {
        private static let names: Set = [
            "cursor", "count", "messageId", "messageIds", "state", "url", "topicName", "queueName", "scheduleId",
            "fromDate", "toDate", "label", "flowControlKey", "callerIp", "callerIP", "qstash_token",
        ]

        var filter = JobFilter()
        var ids: [Job.ID]?
        var state: QStashLogEntry.State?
        var from: Timestamp?
        var to: Timestamp?
        let count: Int
        var cursor: Cursor?

        init(_ query: RawQuery) throws {
            for name in query.items.map(\.name) where !Self.names.contains(name) {
                throw Problem(parameter: name, "is not a parameter that is known here")
            }
            func text(_ name: String) -> String? { query.values(name).first.flatMap { $0.isEmpty ? nil : $0 } }
            func number(_ name: String, in range: ClosedRange<Int64>) throws -> Int64? {
                guard let text = text(name) else { return nil }
                guard let number = Int64(text), range.contains(number) else {
                    throw Problem(
                        parameter: name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
                }
                return number
            }
            filter.labels = QStashSelection.labels(text)
            let asked = ["messageId", "messageIds"].flatMap(query.values)
                .flatMap { $0.split(separator: ",").map(String.init) }
            guard asked.count <= QStashLogRoutes.maximumIDs else {
                throw Problem(parameter: "messageIds", "has more than \(QStashLogRoutes.maximumIDs) ids")
            }
            if !asked.isEmpty { ids = asked.compactMap { Job.ID($0) } }
            if let name = text("state") {
                guard let known = QStashLogEntry.State(rawValue: name) else {
                    let names = QStashLogEntry.State.allCases.map(\.rawValue).joined(separator: ", ")
                    throw Problem(parameter: "state", "must be one of \(names)")
                }
                state = known
            }
            let times = 0...Int64.max / 1000
            from = try number("fromDate", in: times).map { Timestamp(microseconds: $0 * 1000) }
            to = try number("toDate", in: times).map { Timestamp(microseconds: $0 * 1000) }
            filter.createdBefore = to
            let maximum = QStashLogRoutes.maximumCount
            count = Int(try number("count", in: 1...maximum) ?? QStashLogRoutes.standardCount)
            if let text = text("cursor") {
                guard let known = Cursor(text) else {
                    throw Problem(parameter: "cursor", "must be the cursor of an earlier answer")
                }
                cursor = known
            }
        }
    }
}
