import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct QuestionActionRouteTests {
    @Test func `one answer is given to all of a filter, after a dry run that says how many`() async throws {
        let server = try await TestServer()
        for _ in 0..<3 { _ = try await server.ask() }
        let elsewhere = try await server.ask(host: "b.example:443")
        try await server.test { call async throws in
            let order =
                #""filter": {"kind": "willPerformHTTPRedirection", "host": "a.example:443"}, "answer": "cancel""#
            let dry = try await call(.post, "/v1/questions/actions", body: "{\(order), \"dryRun\": true}")
            #expect(dry.json?["matched"]?.integer == 3 && dry.json?["changed"]?.integer == 3)
            let time = try #require(dry.json?["askedBefore"]?.string)
            let end = try #require(Timestamp(rfc3339: time))
            try await until { Timestamp.now >= end }
            let later = try await server.ask()
            let body = "{\(order), \"askedBefore\": \"\(time)\", \"limit\": 2}"
            let done = try await call(.post, "/v1/questions/actions", body: body)
            #expect(done.json?["changed"]?.integer == 2)
            let cursor = try #require(done.json?["nextCursor"]?.string)
            let rest = try await call(
                .post, "/v1/questions/actions",
                body: "{\(order), \"askedBefore\": \"\(time)\", \"cursor\": \"\(cursor)\"}")
            #expect(rest.json?["changed"]?.integer == 1)
            let open = try await call(.get, "/v1/questions?state=open")
            #expect(open.json?["data"]?[0]?["id"]?.string == elsewhere.id.description)
            #expect(open.json?["data"]?[1]?["id"]?.string == later.id.description)
        }
    }

    @Test func `the time that a dry run tells means as many questions as it has counted`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let order = #""filter": {"kind": "willPerformHTTPRedirection"}, "answer": "cancel""#
            for _ in 0..<30 {
                for _ in 0..<2 { _ = try await server.ask() }
                let dry = try await call(.post, "/v1/questions/actions", body: "{\(order), \"dryRun\": true}")
                #expect(dry.json?["changed"]?.integer == 2)
                let time = try #require(dry.json?["askedBefore"]?.string)
                let body = "{\(order), \"askedBefore\": \"\(time)\"}"
                let done = try await call(.post, "/v1/questions/actions", body: body)
                #expect(done.json?["matched"]?.integer == 2 && done.json?["changed"]?.integer == 2)
                #expect(done.json?["askedBefore"]?.string == time)
            }
        }
    }

    @Test(arguments: [
        (#"{"filter": {"kind": "didReceiveServerTrust"}, "answer": "accept", "dryRun": true}"#, "/filter/host"),
        (#"{"filter": {}, "answer": "cancel", "dryRun": true}"#, "/filter/kind"),
        (#"{"filter": {"kind": "didReceiveResponse"}, "answer": "cancel"}"#, "/askedBefore"),
        (#"{"filter": {"kind": "didReceiveResponse"}, "answer": "follow", "dryRun": true}"#, "/answer"),
    ])
    func `an order that says too little is refused`(_ body: String, _ pointer: String) async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            let answer = try await call(.post, "/v1/questions/actions", body: body)
            #expect(answer.problem == .invalidInput && answer.json?["errors"]?[0]?["pointer"]?.string == pointer)
        }
    }
}
