import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Jobs of which only the first with a key is stored.
@Suite(.timeLimit(.minutes(2)), .sharedService()) struct UniqueJobTests {
    private func body(_ url: String, key: String, window: Double = 600) -> String {
        #"{"request": {"url": "\#(url)"}, "unique": {"key": "\#(key)", "window": \#(window)}}"#
    }

    @Test func `however many clients submit a job at once, it is fetched once, and each is told which it is`()
        async throws
    {
        let rig = try SharedService.current
        let play = rig.stage.play(answer(body: "x"))
        let submitted = body(play.url("once"), key: "once")
        let answers = try await withThrowingTaskGroup(of: ServiceProcess.Answer.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    try await rig.service.request(.post, "/v1/jobs", body: submitted, headers: [.prefer: "wait=30"])
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.allSatisfy { $0.status == 201 }, "\(answers.map(\.text))")
        #expect(Set(answers.compactMap { member($0.json, "id", as: String.self) }).count == 1)
        #expect(play.requests.count == 1)
    }

    @Test func `a duplicate is told from the first by its answer, in a batch too`() async throws {
        let rig = try SharedService.current
        let later = #"{"request": "https://a.example/", "suspended": true, "unique": {"key": "told"}}"#
        let first = try await rig.service.request(.post, "/v1/jobs", body: later)
        let second = try await rig.service.request(.post, "/v1/jobs", body: later)
        let id = try #require(member(first.json, "id", as: String.self))
        #expect(first.status == 202 && member(first.json, "duplicate", as: Bool.self) == nil)
        #expect(second.status == 202 && member(second.json, "duplicate") == true, "\(second.text)")
        #expect(member(second.json, "id") == id && member(second.json, "state") == "suspended")
        #expect(second.headers[.location] == "/v1/jobs/\(id)")
        let others = later.replacing("told", with: "other")
        let batch = try await rig.service.request(
            .post, "/v1/jobs/batch", body: [later, others, others].joined(separator: "\n"),
            headers: [.contentType: "application/x-ndjson"])
        let lines = try batch.text.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        #expect(lines.map { member($0, "duplicate", as: Bool.self) } == [true, nil, true], "\(batch.text)")
        #expect(member(lines[0], "id") == id && lines[1]["id"] as? String == lines[2]["id"] as? String)
        let stored = try await rig.service.request(.get, "/v1/jobs/\(id)").json
        #expect(member(stored, "unique", "key") == "told" && member(stored, "unique", "window") == 600)
    }

    @Test func `when the window is over the next job is another, though the first has failed`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("404 Not Found"))
        let submitted = body(play.url(), key: "again", window: 1)
        let first = member(
            try await rig.service.request(.post, "/v1/jobs", body: submitted).json, "id", as: String.self)
        try await until {
            let next = try await rig.service.request(.post, "/v1/jobs", body: submitted).json
            return member(next, "duplicate", as: Bool.self) == nil && member(next, "id", as: String.self) != first
        }
    }

    @Test func `jobs in memory are unique too`() async throws {
        let rig = try SharedService.current
        let session = try await rig.service.request(.post, "/v1/sessions", body: #"{"kind": "ephemeral"}"#).json
        let id = try #require(member(session, "id", as: String.self))
        let job =
            #"{"session": "\#(id)", "request": "https://a.example/", "suspended": true, "unique": {"key": "m"}}"#
        let answers = [
            try await rig.service.request(.post, "/v1/jobs", body: job).json,
            try await rig.service.request(.post, "/v1/jobs", body: job).json,
        ]
        #expect(answers.map { member($0, "duplicate", as: Bool.self) } == [nil, true], "\(answers)")
        #expect(answers[0]["id"] as? String == answers[1]["id"] as? String)
    }

    @Test(
        arguments: [
            (#"{"window": 60}"#, "/unique/key"), (#"{"key": ""}"#, "/unique/key"),
            (#"{"key": "a", "window": 0.5}"#, "/unique/window"), (#"{"key": "a", "window": 604801}"#, "/unique/window"),
            (#"{"key": "a", "states": []}"#, "/unique/states"), (#""a""#, "/unique"),
        ])
    func `what is no unique key is refused by its member`(_ unique: String, _ pointer: String) async throws {
        let body = #"{"request": "https://a.example/", "unique": \#(unique)}"#
        let answer = try await SharedService.current.service.request(.post, "/v1/jobs", body: body)
        #expect(answer.status == 422 && member(answer.json, "errors", "0", "pointer") == pointer, "\(answer.text)")
    }
}
