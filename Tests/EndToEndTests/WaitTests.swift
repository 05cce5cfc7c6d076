import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Jobs whose clients wait for them.
@Suite(.timeLimit(.minutes(2))) struct WaitTests {
    /// The job as the answer to its submission has it, which need not come from the store, and as it is stored.
    private func expectStored(_ answer: ServiceProcess.Answer, in service: ServiceProcess) async throws {
        try #require(answer.status == 201, "\(answer.text)")
        let id = try #require(member(answer.json, "id", as: String.self))
        let stored = try await service.request(.get, "/v1/jobs/\(id)")
        // What the job goes by is added to what it is.
        let end = try #require(stored.text.range(of: #","effectiveConfiguration":"#))
        #expect(answer.text == stored.text[..<end.lowerBound] + "}")
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
        #"{"request": {"url": "http://127.0.0.1:1/"}}"#,
        #"{"request": {"url": "U/get"}, "flow": {"key": "f"}}"#,
    ])
    func `the answer has the job as it is stored`(body: String) async throws {
        let origin = try await Origin.httpbin()
        try await ServiceProcess.with(allowing: [origin.rule, "127.0.0.1:1"]) { service in
            let body = body.replacingOccurrences(of: "U/", with: origin.url("/"))
            try await expectStored(try await submit(body, to: service), in: service)
        }
    }

    @Test func `the answer has what was changed while the job ran`() async throws {
        let origin = try await Origin.httpbin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            async let answer = submit(
                #"{"request": {"url": "\#(origin.url("/delay/3"))"}, "labels": {"of": "a"}}"#, to: service)
            var id: String?
            try await TestSupport.until {
                id = member(try await service.request(.get, "/v1/jobs?state=running").json, "data", "0", "id")
                return id != nil
            }
            let change = try await service.request(
                .patch, "/v1/jobs/\(try #require(id))", body: #"{"labels": {"of": "b"}}"#)
            #expect(change.status == 200, "\(change.text)")
            let waited = try await answer
            #expect(member(waited.json, "labels", "of") == "b")
            try await expectStored(waited, in: service)
        }
    }
}
