import FetchEngine
import HTTPTypes
import Testing

@testable import FetchJobs

@Suite struct QuestionContentTests {
    private func job() throws -> ClaimedJob {
        let json = try JSONParser.parse(#"{"request": {"url": "https://a.example/x"}}"#.utf8)
        return ClaimedJob(id: Job.ID(), tenant: Tenant.ID(rawValue: 1), spec: try JobSpec(json: json), claim: 1)
    }

    private func asked(_ question: Question) throws -> AskedQuestion {
        AskedQuestion(
            question, of: try job(), sequence: 1, limits: AnswerLimits(of: question, .init()), endpoint: nil)
    }

    // Proves: SEC-47, SEC-60.
    @Test func `what an origin says is cut and has no character that controls how text is shown`() throws {
        let realm = "\u{202E}staff\u{7}" + String(repeating: "x", count: 5000)
        let text = try asked(try Questions.challenge(realm: realm)).content.text
        #expect(text.contains(#"\\u{202e}staff\\u{7}"#))
        #expect(!text.contains("\u{202E}"))
        #expect(text.utf8.count < 3000)
    }

    @Test func `facts have 64 KiB at most, however many fields a response has`() throws {
        var headers: HTTPFields = [:]
        for index in 0..<400 {
            headers.append(
                HTTPField(name: try #require(.init("x-\(index)")), value: String(repeating: "v", count: 900)))
        }
        let question = try Questions.redirection(headers: headers)
        let content = try asked(question).content
        #expect(content.bytes.count <= AskedQuestion.maximumContentBytes)
        guard case .object = try JSONParser.parse(content.bytes) else {
            Issue.record("is no object")
            return
        }
    }

    // Proves: SEC-42, SEC-60.
    @Test func `no secret of a request or response is among the facts`() throws {
        var headers: HTTPFields = [:]
        headers[.setCookie] = "sid=hush; Path=/"
        headers[.location] = "https://user:hush@b.example/"
        let question = try Questions.redirection(headers: headers)
        #expect(try !asked(question).content.text.contains("hush"))
    }

    @Test func `a reply is an answer with a note, and says where it is none`() throws {
        let noted = try Reply(
            json: JSONParser.parse(#"{"answer":"cancel","note":"why"}"#.utf8), to: .didReceiveResponse)
        #expect(noted.answer == .cancel && noted.note == "why")
        #expect(throws: InvalidInput(pointer: "/other", message: "")) {
            do {
                _ = try Reply(json: JSONParser.parse(#"{"answer":"cancel","other":1}"#.utf8), to: .didReceiveResponse)
            } catch let error as InvalidInput {
                throw InvalidInput(pointer: error.violations.first?.pointer ?? "", message: "")
            }
        }
    }
}
