import ArgumentParser
import FetchJobs
import HTTPTypes
import Testing

@testable import fetchd

/// What commands about a running service print.
@Suite struct RemoteOutputTests {
    private func json(_ text: String) throws -> JSONValue { try JSONParser.parse(text.utf8) }

    @Test func `a table has columns as wide as their values, and no text that drives a terminal`() throws {
        let elements = [
            try json(#"{"id": "job_1", "state": "failed", "error": {"name": "timedOut"}}"#),
            try json(#"{"id": "job_22\u001b[2J", "state": 7}"#),
        ]
        let columns = [
            Column("ID", "id"), Column("STATE", "state"), Column("ERROR", "error.name"),
            Column("ALL", "error", isWide: true),
        ]
        #expect(
            TextTable(columns, isWide: false).lines(elements) == [
                "ID          STATE   ERROR", "job_1       failed  timedOut", "job_22?[2J  7       -",
            ])
        #expect(
            TextTable(columns, isWide: true).lines(elements)[1] == #"job_1       failed  timedOut  {"name":"timedOut"}"#
        )
        let long = try json(#"{"id": "\#(String(repeating: "x", count: 100))"}"#)
        #expect(TextTable(columns, isWide: false).lines([long])[1].contains("x…"))
    }

    @Test func `events are read from whatever pieces they come in`() {
        let text = ": comment\n\nid: 1\nevent: job.started\ndata: {\"attempt\": 1}\n\nevent: job.finished\ndata: {}\n\n"
        let expected = [
            EventLines.Event(name: "job.started", data: "{\"attempt\": 1}"),
            EventLines.Event(name: "job.finished", data: "{}"),
        ]
        for size in 1...text.utf8.count {
            var (lines, events, rest) = (EventLines(), [EventLines.Event](), Array(text.utf8)[...])
            while !rest.isEmpty {
                events += lines.take(Array(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
            #expect(events == expected)
        }
    }

    @Test(arguments: [
        (400, RemoteFailure.Kind.usage), (401, .forbidden), (403, .forbidden), (404, .refused), (409, .refused),
        (422, .usage), (429, .unavailable), (500, .unavailable), (503, .unavailable),
    ])
    func `a refusal is told with its member and rule, and has an exit code`(status: Int, kind: RemoteFailure.Kind) {
        let problem = """
            {"title": "t", "detail": "It is not right.", "code": "invalidInput",
             "errors": [{"pointer": "/request/url", "message": "must be http"}, {"parameter": "limit", "message": "x"}]}
            """
        let failure = RemoteFailure(status, Array(problem.utf8), [.retryAfter: "7"])
        #expect(failure.kind == kind)
        let text = failure.description
        #expect(text.hasPrefix("It is not right. (invalidInput, \(status))\n  /request/url: must be http\n  limit: x"))
        #expect(
            text.contains("FETCHD_KEY") == (status == 401)
                && text.contains("Try again in 7 s.") == (kind == .unavailable))
        // What is no problem document, such as a proxy's page, is a failure with a status.
        #expect(RemoteFailure(status, Array("<html>".utf8), [:]).description.contains("answers \(status)"))
    }

    @Test func `names are parts of a path and of a query, whatever they are`() {
        #expect(RemoteService.path("v1", "hosts", "a/b ?#é") == "/v1/hosts/a%2Fb%20%3F%23%C3%A9")
    }

    @Test(arguments: [
        ["jobs", "ls", "--limit", "0"], ["jobs", "submit"], ["jobs", "submit", "http://a", "--file", "x"],
        ["jobs", "submit", "http://a", "--wait", "61"], ["cache", "purge"], ["cache", "purge", "--all", "--host", "a"],
        ["top", "--interval", "0"], ["jobs", "ls", "-o", "xml"], ["jobs", "ls", "--key", "a", "--key-file", "b"],
    ])
    func `wrong usage is refused before anything is sent`(arguments: [String]) {
        #expect(throws: (any Error).self) { try Fetchd.parseAsRoot(arguments) }
    }

    @Test func `top tells the same in a line, in a picture and in JSON`() throws {
        let statistics = try json(
            #"{"current": {"queued": 3}, "ended": {"failed": 2, "jobsPerSecond": 1.5}, "hosts": [{"host": "a.example", "jobs": 9}]}"#
        )
        let look = TopCommand.Look(
            queue: try json(#"{"paused": true}"#), statistics: statistics, running: [try json(#"{"id": "job_1"}"#)])
        #expect(
            look.line.contains(" queued=3 ") && look.line.contains(" failed=2 ")
                && look.line.hasSuffix("per_second=1.5"))
        let picture = look.lines(isWide: false).joined(separator: "\n")
        for part in ["PAUSED", "3 queued", "a.example", "job_1"] { #expect(picture.contains(part)) }
        #expect(try json(look.json).at("statistics.current.queued")?.integer == 3)
    }
}
