import FetchJobs
import HTTPTypes
import Hummingbird

/// One answer to all open questions of a filter.
struct QuestionActionRoute: Sendable {
    let answers: QuestionAnswers

    var routes: [Route] { [Route(.post, "/v1/questions/actions", tenant: act)] }

    private struct Order {
        let filter: QuestionFilter
        let reply: Reply
        let limit: Int
        let cursor: String?
        /// No question is answered; the response says how many would be.
        let isDryRun: Bool

        private static let members: Set = ["filter", "answer", "note", "limit", "cursor", "dryRun", "askedBefore"]

        init(json: JSONValue) throws(InvalidInput) {
            let check = InputCheck()
            let object = JSONReader(json, check: check).object(of: Self.members)
            var filter = object?.required("filter").flatMap { QuestionFilter(reader: $0) } ?? QuestionFilter()
            filter.state = .open
            isDryRun = object?["dryRun"]?.bool() ?? false
            filter.askedBefore = object?["askedBefore"]?.timestamp()
            // Without a time, the answer would go to questions that its author has not seen.
            if !isDryRun, filter.askedBefore == nil { _ = object?.required("askedBefore") }
            limit = Int(
                object?["limit"]?.integer(in: 1...Int64(QuestionAnswers.maximumQuestions))
                    ?? Int64(QuestionAnswers.maximumQuestions))
            cursor = object?["cursor"]?.string(maximumLength: 512)
            let answer = object?.required("answer")
            let note = object?["note"]?.string(maximumLength: 1000)
            try check.finish()
            guard let kind = filter.kind, let answer else {
                throw InvalidInput(pointer: "", message: "is not an answer for the questions of a filter")
            }
            reply = try Self.reply(answer.value, note, to: kind)
            try Self.check(reply.answer, filter)
            self.filter = filter
        }

        private static func reply(
            _ answer: JSONValue, _ note: String?, to kind: Question.Kind
        ) throws(InvalidInput) -> Reply {
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

        /// A credential, or trust in a chain, goes to one host and not to every host that asks.
        private static func check(_ answer: Answer, _ filter: QuestionFilter) throws(InvalidInput) {
            guard filter.host == nil, answer == .accept || answer.credential != nil else { return }
            throw InvalidInput(
                pointer: "/filter/host", message: "is required with the answer \"\(answer.word.rawValue)\"")
        }
    }

    private func act(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let (json, _) = try await call.submission(upTo: JobRoutes.maximumBody)
        let order = try await KeyReading.shared.read(json, of: tenant, Order.init(json:))
        let cursor = try order.cursor.map { try Cursor<QuestionIDKind>($0, filter: order.filter.word) }
        // The time that a dry run tells bounds its own count too: the same time then means the same questions.
        let time = order.filter.askedBefore ?? .now
        var filter = order.filter
        filter.askedBefore = time
        let total = try await answers.giveAll(
            order.reply, to: filter, of: tenant, after: cursor?.after, limit: order.limit, isDryRun: order.isDryRun,
            by: try answers.key(of: call))
        return .json { writer in
            writer.member("matched", total.matched)
            writer.member("changed", total.changed)
            writer.member("askedBefore", time.exact)
            writer.member("nextCursor", total.last.map { Cursor(after: $0, filter: filter.word).text })
        }
    }
}
