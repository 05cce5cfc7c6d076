import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Jobs whose clients wait for them.
@Suite(.timeLimit(.minutes(2)), .sharedServiceAndHTTPBin) struct WaitTests {
    /// The job as the answer to its submission has it, which need not come from the store, and as it is stored.
    private func expectStored(_ answer: ServiceProcess.Answer, in service: ServiceProcess) async throws {
        try #require(answer.status == 201, "\(answer.text)")
        let id = try #require(member(answer.json, "id", as: String.self))
        let stored = try await service.request(.get, "/v1/jobs/\(id)")
        #expect(answer.text == stored.text)
        // The effective configuration is added to the job when it is asked for.
        let more = try await service.request(.get, "/v1/jobs/\(id)?include=effectiveConfiguration")
        let end = try #require(more.text.range(of: #","effectiveConfiguration":"#))
        #expect(answer.text == more.text[..<end.lowerBound] + "}")
    }

    private func submit(_ body: String, to service: ServiceProcess) async throws -> ServiceProcess.Answer {
        try await service.request(.post, "/v1/jobs", body: body, headers: [.prefer: "wait=30"])
    }

    @Test(arguments: [
        #"{"request": {"url": "U/get"}, "labels": {"of": "a"}}"#,
        #"{"request": {"url": "U/redirect/2"}, "priority": 0.25}"#,
        #"{"request": {"url": "U/basic-auth/a/b"}, "configuration": {"authentication": {"credential": {"user": "a", "password": "b"}}}}"#,
        #"{"request": {"url": "U/status/404"}}"#,
        #"{"kind": "download", "request": {"url": "U/bytes/3000"}}"#,
        #"{"request": {"url": "http://127.0.0.1:9/"}}"#,
        #"{"request": {"url": "U/get"}, "flow": {"key": "f"}}"#,
    ])
    func `the answer has the job as it is stored`(body: String) async throws {
        let rig = try SharedService.current
        let body = body.replacingOccurrences(of: "U/", with: try rig.bin("/"))
        try await expectStored(try await submit(body, to: rig.service), in: rig.service)
    }

    @Test func `the answer has what was changed while the job ran`() async throws {
        let rig = try SharedService.current
        let gate = Gate()
        let play = rig.stage.serve { _, connection in
            try gate.wait()
            try connection.send(EndToEndTests.answer(body: "x"))
        }
        let submitted = #"{"request": {"url": "\#(play.url())"}, "labels": {"of": "a"}}"#
        async let answer = submit(submitted, to: rig.service)
        try await TestSupport.until { play.requests.count == 1 }
        let running = try await rig.service.request(.get, "/v1/jobs?state=running").json
        let id = try #require(member(running, "data", "0", "id", as: String.self), "\(running)")
        let change = try await rig.service.request(.patch, "/v1/jobs/\(id)", body: #"{"labels": {"of": "b"}}"#)
        #expect(change.status == 200, "\(change.text)")
        gate.open()
        let waited = try await answer
        #expect(member(waited.json, "labels", "of") == "b")
        try await expectStored(waited, in: rig.service)
    }

    @Test func `whoever reads a job can wait for its end`() async throws {
        let rig = try SharedService.current
        let gate = Gate()
        let play = rig.stage.serve { _, connection in
            try gate.wait()
            try connection.send(EndToEndTests.answer(body: "x"))
        }
        let submitted = try await rig.service.request(.post, "/v1/jobs", body: #"{"request": "\#(play.url())"}"#)
        let path = "/v1/jobs/\(try #require(member(submitted.json, "id", as: String.self)))"
        let early = try await rig.service.request(.get, path, headers: [.prefer: "wait=0"])
        #expect(early.headers[.preferenceApplied] == "wait=0" && member(early.json, "state") != "succeeded")
        async let waited = rig.service.request(.get, path, headers: [.prefer: "wait=30"])
        try await TestSupport.until { play.requests.count == 1 }
        gate.open()
        let end = try await waited
        #expect(member(end.json, "state") == "succeeded" && end.headers[.preferenceApplied] == "wait=30")
        // Without waiting: what has ended, and what is not there.
        #expect(try await rig.service.request(.get, path, headers: [.prefer: "wait=60"]).text == end.text)
        let unknown = "/v1/jobs/job_01m8b031jje8rr4ysmhbnfkv53"
        #expect(try await rig.service.request(.get, unknown, headers: [.prefer: "wait=60"]).status == 404)
    }
}
