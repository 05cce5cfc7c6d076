import HTTPTypes
import Testing

@testable import FetchEngine

/// The decisions about a response of the origin, one case for each rule.
@Suite struct CacheMachineReceptionTests {
    /// A machine that has asked the origin about a stale entry, and the entry.
    private static func validating(
        _ stored: String..., asked: [String] = [], method: HTTPRequest.Method = .get,
        configuration: CachingConfiguration = CachingConfiguration()
    ) throws -> (CacheMachine, CacheEntry) {
        let request = Request(
            url: try URLRecord("http://origin.test/a?b=c"), method: method, headerFields: .init(lines: asked))
        let response = Response(
            url: request.url, status: .ok, headerFields: .init(lines: stored), expectedContentLength: 4)
        let entry = try CacheEntry.make(response, to: Request(url: request.url))
        var machine = CacheMachine(request, configuration: configuration)
        guard case .send = machine.lookedUp([entry], now: sendingTime + 100) else { throw NotValidated() }
        return (machine, entry)
    }

    private struct NotValidated: Error {}

    // Proves: CCH-7, CCH-10, CCH-20.
    @Test func `an answer that may be stored is, under the request's key`() throws {
        var machine = CacheMachine(try .make())
        _ = machine.lookedUp([], now: sendingTime)
        let response = try Response.make(200, "Cache-Control: max-age=60", "Connection: close")
        let reception = machine.received(response, now: sendingTime + 5)
        guard case .deliverAndStore(let entry) = reception.action else {
            Issue.record("not stored")
            return
        }
        #expect(entry.key == CacheKey(try .make()))
        #expect(!entry.response.headerFields.contains(.connection))
        #expect(entry.requestTime == sendingTime && entry.responseTime == sendingTime + 5)
        #expect(machine.status.description == "FetchEngine;fwd=uri-miss;ttl=55;stored")
    }

    // Proves: CCH-11.
    @Test(arguments: ["Cache-Control: no-store", "Vary: *"])
    func `an answer that may not be stored is delivered`(_ line: String) throws {
        var machine = CacheMachine(try .make())
        _ = machine.lookedUp([], now: sendingTime)
        #expect(machine.received(try .make(200, line), now: sendingTime).summary == "deliver")
        #expect(machine.status.description == "FetchEngine;fwd=uri-miss")
    }

    // Proves: CCH-7.
    @Test func `304 serves the stored answer with the new fields`() throws {
        var (machine, entry) = try Self.validating("ETag: \"a\"", "Cache-Control: max-age=60", "X: old")
        let reception = machine.received(
            try .make(304, "ETag: \"a\"", "Cache-Control: max-age=90", "X: new"), now: sendingTime + 100)
        guard case .serve(let stored, let response) = reception.action else {
            Issue.record("not served")
            return
        }
        #expect(response.status == .ok)
        #expect(response.headerFields[HTTPField.Name("X")!] == "new")
        #expect(reception.refreshed?.replacing == entry.id)
        #expect(stored.id == entry.id)
        #expect(machine.status.description == "FetchEngine;fwd=stale;fwd-status=304;ttl=90;stored")
    }

    // RFC 9111 §4.3.4, §5.2.2.5.
    // Proves: CCH-8.
    @Test func `304 with no-store serves the answer and forgets it`() throws {
        var (machine, entry) = try Self.validating("ETag: \"a\"")
        let reception = machine.received(try .make(304, "Cache-Control: no-store"), now: sendingTime + 100)
        #expect(reception.summary == "serve 200")
        #expect(reception.refreshed == nil)
        #expect(reception.removed?.id == entry.id)
    }

    // Proves: CCH-7.
    @Test func `304 about something else asks again without conditions, once`() throws {
        var (machine, _) = try Self.validating("ETag: \"a\"")
        let first = machine.received(try .make(304, "ETag: \"b\""), now: sendingTime + 100)
        #expect(first.summary == "again")
        #expect(machine.received(try .make(304), now: sendingTime + 101).summary == "deliver")
    }

    // Proves: CCH-7.
    @Test func `a new answer replaces the stored one, or removes it when it may not be stored`() throws {
        var (machine, entry) = try Self.validating("ETag: \"a\"")
        #expect(machine.received(try .make(200, "ETag: \"b\""), now: sendingTime + 100).summary == "store")
        (machine, entry) = try Self.validating("ETag: \"a\"")
        let reception = machine.received(try .make(200, "Cache-Control: no-store"), now: sendingTime + 100)
        #expect(reception.summary == "deliver")
        #expect(reception.removed?.id == entry.id)
    }

    // RFC 5861 §4; the answer is 100 seconds old and was fresh for 60.
    // Proves: CCH-8.
    @Test(arguments: [
        ("stale-if-error=40", "", 500, "serve 200"), ("stale-if-error=40", "", 502, "serve 200"),
        ("stale-if-error=40", "", 503, "serve 200"), ("stale-if-error=40", "", 504, "serve 200"),
        ("stale-if-error=39", "", 500, "deliver"), ("stale-if-error=40", "", 501, "store"),
        ("stale-if-error=40", "", 404, "store"), ("", "", 500, "deliver"),
        ("", "Cache-Control: stale-if-error=40", 500, "serve 200"),
        ("stale-if-error=40, must-revalidate", "", 500, "deliver"), ("stale-if-error=40, no-cache", "", 500, "deliver"),
    ])
    func `a stale answer stands in for a failing server as long as it may`(
        _ stored: String, _ asked: String, _ code: Int, _ expected: String
    ) throws {
        var (machine, entry) = try Self.validating(
            "ETag: \"a\"", "Cache-Control: max-age=60, \(stored)", asked: asked.isEmpty ? [] : [asked])
        let reception = machine.received(try .make(code), now: sendingTime + 100)
        #expect(reception.summary == expected)
        #expect(reception.removed == nil || reception.removed?.id == entry.id)
        if expected == "serve 200" {
            #expect(machine.status.description.contains("fwd=stale;fwd-status=\(code);ttl=-40;detail=stale-if-error"))
        }
    }

    // RFC 5861 §4.
    // Proves: CCH-8.
    @Test func `a stale answer stands in for a lost connection, but not for a cancelled load`() throws {
        var (machine, _) = try Self.validating("ETag: \"a\"", "Cache-Control: max-age=60, stale-if-error=60")
        let lost = LoadError(.networkConnectionLost, "")
        #expect(machine.failed(lost, now: sendingTime + 100)?.response.headerFields[.age] == "100")
        #expect(machine.failed(LoadError(.cancelled, ""), now: sendingTime + 100) == nil)
        #expect(machine.failed(lost, now: sendingTime + 121) == nil)
        (machine, _) = try Self.validating("ETag: \"a\"", "Cache-Control: max-age=60")
        #expect(machine.failed(lost, now: sendingTime + 100) == nil)
    }

    // RFC 9111 §4.4.
    // Proves: CCH-8.
    @Test func `an unsafe request forgets its URL and those of its origin that the answer names`() throws {
        let url = "http://origin.test/a"
        func forgotten(_ method: HTTPRequest.Method, _ code: Int, _ lines: String...) throws -> [String] {
            var machine = CacheMachine(try .make(method, url))
            let response = Response(
                url: try URLRecord(url), status: .init(code: code), headerFields: .init(lines: lines))
            return machine.received(response, now: sendingTime).invalidated.map(\.url)
        }
        for method in [HTTPRequest.Method.post, .put, .patch, .delete, HTTPRequest.Method("UNKNOWN")!] {
            #expect(try forgotten(method, 200) == [url])
        }
        #expect(try forgotten(.post, 303) == [url])
        #expect(try forgotten(.post, 404) == [])
        #expect(try forgotten(.post, 500) == [])
        #expect(try forgotten(.get, 200) == [])
        #expect(try forgotten(.options, 200) == [])
        #expect(
            try forgotten(.post, 201, "Location: /new", "Content-Location: b") == [
                url, "http://origin.test/new", "http://origin.test/b",
            ])
        #expect(try forgotten(.post, 201, "Location: https://origin.test/new") == [url])
        #expect(try forgotten(.post, 201, "Location: http://other.test/") == [url])
    }

    // RFC 9111 §4.3.5.
    // Proves: CCH-8.
    @Test func `the answer to HEAD refreshes what agrees with it and removes what does not`() throws {
        let stored = ["ETag: \"a\"", "Last-Modified: \(Dates.tenDaysAgo)", "Content-Length: 4"]
        func reception(_ lines: String...) throws -> CacheMachine.Reception {
            var (machine, _) = try Self.validating(
                stored[0], stored[1], stored[2], "Cache-Control: no-cache", method: .head)
            let response = Response(
                url: try URLRecord("http://origin.test/a?b=c"), status: .ok, headerFields: .init(lines: lines))
            return machine.received(response, now: sendingTime + 100)
        }
        let same = try reception(stored[0], stored[2], "Cache-Control: max-age=60", "X: new")
        #expect(same.summary == "deliver")
        #expect(same.refreshed?.entry.response.headerFields[HTTPField.Name("X")!] == "new")
        #expect(same.removed == nil)
        for line in ["ETag: \"b\"", "Content-Length: 5", "Last-Modified: \(Dates.now)"] {
            #expect(try reception(line).removed != nil)
        }
    }

    // Range requests.
    // Proves: CCH-10.
    @Test func `a part is not stored, the whole that came instead is`() throws {
        var machine = CacheMachine(try .make(.get, "http://origin.test/", "Range: bytes=0-1"))
        #expect(machine.received(try .make(206, "Content-Range: bytes 0-1/4"), now: sendingTime).summary == "deliver")
        #expect(machine.received(try .make(200), now: sendingTime).summary == "store")
    }
}
