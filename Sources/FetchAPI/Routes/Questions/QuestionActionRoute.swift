import FetchJobs
import HTTPTypes
import Hummingbird

/// One answer to all open questions of a filter.
struct QuestionActionRoute: Sendable {
    /// How many questions one request answers.
    static let maximumQuestions = 10_000
    /// How many are answered at once.
    static let pageSize = 500

    let questions: any QuestionStore
    let answers: QuestionAnswers

    var routes: [Route] { [Route(.post, "/v1/questions/actions", tenant: act)] }

    private struct Order {
        let filter: QuestionFilter
        let reply: Reply
        let limit: Int
        let cursor: Cursor<QuestionIDKind>?
        /// Nothing is answered: the response says what would be.
        let isDryRun: Bool

        private static let members: Set = ["filter", "answer", "note", "limit", "cursor", "dryRun", "askedBefore"]

        init(json: JSONValue) throws {
            let check = InputCheck()
            let object = JSONReader(json, check: check).object(of: Self.members)
            var filter = object?.required("filter").flatMap { QuestionFilter(reader: $0) } ?? QuestionFilter()
            filter.state = .open
            isDryRun = object?["dryRun"]?.bool() ?? false
            filter.askedBefore = object?["askedBefore"]?.timestamp()
            // What was asked since is not what was looked at.
            if !isDryRun, filter.askedBefore == nil { _ = object?.required("askedBefore") }
            limit = Int(
                object?["limit"]?.integer(in: 1...Int64(QuestionActionRoute.maximumQuestions))
                    ?? Int64(QuestionActionRoute.maximumQuestions))
            let cursor = object?["cursor"]?.string(maximumLength: 512)
            let answer = object?.required("answer")
            let note = object?["note"]?.string(maximumLength: 1000)
            try check.finish()
            guard let kind = filter.kind, let answer else { throw Problem(.invalidInput) }
            reply = try Self.reply(answer.value, note, to: kind)
            try Self.check(reply.answer, filter)
            self.filter = filter
            self.cursor = try cursor.map { try Cursor<QuestionIDKind>($0, filter: filter.word) }
        }

        private static func reply(_ answer: JSONValue, _ note: String?, to kind: Question.Kind) throws -> Reply {
            var json = answer
            if let note {
                var members = [JSONMember("answer", answer)]
                if case .object(let others) = answer { members = others }
                json = .object(members + [JSONMember("note", .string(note))])
            }
            do throws(InvalidInput) {
                return try Reply(json: json, to: kind)
            } catch {
                throw InvalidInput(
                    error.violations.map { Violation(pointer: "/answer\($0.pointer)", message: $0.message) })
            }
        }

        /// What proves who somebody is, or who is believed, is said of one host and not of whoever asks.
        private static func check(_ answer: Answer, _ filter: QuestionFilter) throws {
            guard filter.host == nil, answer == .accept || answer.credential != nil else { return }
            throw InvalidInput(
                pointer: "/filter/host", message: "is required with the answer \"\(answer.word.rawValue)\"")
        }
    }

    private func act(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let (json, _) = try await call.submission(upTo: JobRoutes.maximumBody)
        let order = try Order(json: json)
        let time = order.filter.askedBefore ?? .now
        let decider = try await answers.key(of: call)
        var (matched, changed) = (0, 0)
        var last = order.cursor?.after
        var hasMore = true
        while hasMore, matched < order.limit {
            let size = min(Self.pageSize, order.limit - matched)
            let page = try await questions.questions(of: tenant, matching: order.filter, after: last, limit: size)
            matched += page.count
            hasMore = page.count == size
            last = page.last?.id ?? last
            changed += order.isDryRun ? page.count : try await give(order.reply, to: page, by: decider)
        }
        let next = hasMore ? last.map { Cursor(after: $0, filter: order.filter.word).text } : nil
        return .json { writer in
            writer.member("matched", matched)
            writer.member("changed", changed)
            writer.member("askedBefore", time.description)
            writer.member("nextCursor", next)
        }
    }

    /// - Returns: How many have got the answer; one that is over, or whose limits it breaks, does not.
    func give(_ reply: Reply, to page: [StoredQuestion], by decider: Decision.Decider) async throws -> Int {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for question in page {
                group.addTask {
                    do {
                        _ = try await answers.give(reply, to: question, by: decider)
                        return true
                    } catch let problem as Problem
                        where [.answerNotAllowed, .alreadyAnswered, .questionClosed, .notFound].contains(problem.code)
                    {
                        return false
                    }
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
    }
}
