import FetchJobs
import HTTPTypes
import Testing

@testable import FetchEngine

/// R35: the signals in responses for those who would ask next.
@Suite struct LimiterSignalTests {
    private static let now = Timestamp(microseconds: 1_700_000_000_000_000)

    private static func signal(
        _ status: Int, _ fields: [(String, String)] = [], _ cache: CacheStatus = CacheStatus()
    ) throws -> Limiter.Signal? {
        var headers = HTTPFields()
        for (name, value) in fields { headers.append(HTTPField(name: try #require(.init(name)), value: value)) }
        var response = Response(
            url: try URLRecord("http://a.example/"), status: .init(code: status), headerFields: headers)
        response.cacheStatus = cache
        return Limiter.Signal(of: response, now: now)
    }

    @Test(
        arguments: [
            (429, [("Retry-After", "7")], 7), (503, [("Retry-After", "7")], 7),
            (503, [("Retry-After", "99999999")], 86_400),
            (200, [("RateLimit", #""default";r=0;t=30"#)], 30),
            (200, [("RateLimit", #""a";r=0;t=30, "b";r=0;t=60, "c";r=5;t=90"#)], 60),
            (200, [("RateLimit", #""a";r=0;t=30"#), ("RateLimit", #""b";r=0;t=40"#)], 40),
            (429, [("Retry-After", "3"), ("RateLimit", #""default";r=0;t=30"#)], 3),
            (503, [("RateLimit", #""default";r=0;t=30"#)], 30),
            (200, [("RateLimit", "limit=100, remaining=0, reset=9")], 9),
            (200, [("RateLimit-Remaining", "0"), ("RateLimit-Reset", "12")], 12),
            (403, [("RateLimit-Remaining", "0"), ("RateLimit-Reset", "1700000012")], 12),
        ] as [(Int, [(String, String)], Int64)])
    func `an answer that asks for patience is believed, up to a day`(
        status: Int, fields: [(String, String)], seconds: Int64
    ) throws {
        guard case .open(let circuit) = try Self.signal(status, fields) else {
            Issue.record("no circuit is opened")
            return
        }
        #expect(circuit.until == Self.now.advanced(by: .seconds(seconds)))
        #expect(circuit.reason.hasPrefix("\(status), "))
    }

    @Test func `an operator bounds for how long a host is believed`() throws {
        let signal = try #require(try Self.signal(429, [("Retry-After", "86400")]))
        let bounded = signal.bounded(by: .seconds(3600), now: Self.now)
        #expect(bounded == .open(.init(until: Self.now.advanced(by: .seconds(3600)), reason: "429, Retry-After")))
        #expect(
            try Self.signal(429, [("Retry-After", "7")])?.bounded(by: .seconds(3600), now: Self.now)
                == Self.signal(429, [("Retry-After", "7")]))
        #expect(Limiter.Signal.proceed.bounded(by: .seconds(1)) == .proceed)
    }

    @Test(
        arguments: [
            (200, []), (404, [("Retry-After", "7")]), (500, []), (200, [("RateLimit", #""default";r=1;t=30"#)]),
            (200, [("RateLimit", #""default";r=0"#)]), (200, [("RateLimit", "r=;")]),
            (200, [("RateLimit", "limit=100, remaining=4, reset=9")]),
            (200, [("RateLimit-Remaining", "2"), ("RateLimit-Reset", "12")]),
            (200, [("RateLimit-Remaining", "0"), ("RateLimit-Reset", "1699999999")]),
        ] as [(Int, [(String, String)])])
    func `any other answer lets jobs go on`(status: Int, fields: [(String, String)]) throws {
        #expect(try Self.signal(status, fields) == .proceed)
    }

    @Test func `without a time 429 asks for patience and 503 says nothing`() throws {
        for fields in [[], [("Retry-After", "0")], [("Retry-After", "soon")]] {
            #expect(try Self.signal(429, fields) == .backOff(reason: "429"))
            #expect(try Self.signal(503, fields) == nil)
        }
    }

    @Test func `what the origin was not asked for says nothing`() throws {
        #expect(try Self.signal(200, [], CacheStatus(forward: nil)) == nil)
        #expect(try Self.signal(429, [("Retry-After", "7")], CacheStatus(forward: nil)) == nil)
        var cache = CacheStatus(forward: .stale)
        cache.forwardStatus = 503
        #expect(try Self.signal(200, [], cache) == nil)
        cache.forwardStatus = 304
        #expect(try Self.signal(200, [], cache) == .proceed)
    }
}
