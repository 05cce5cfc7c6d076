import HTTPTypes
import Testing

@testable import FetchEngine

@Suite struct FreshnessTests {
    private static func freshness(
        _ lines: [String], status: Int = 200, delay: Int = 0
    ) throws -> Freshness {
        let response = Response(
            url: try URLRecord("http://origin.test/"), status: .init(code: status), headerFields: .init(lines: lines))
        return Freshness(of: response, requestTime: sendingTime, responseTime: sendingTime + delay)
    }

    // RFC 9111 §4.2.3.
    // Proves: CCH-8.
    @Test(arguments: [
        ([], 0, 0), (["Date: \(Dates.now)"], 0, 0), (["Date: \(Dates.aMinuteAgo)"], 0, 60),
        (["Date: \(Dates.inAMinute)"], 0, 0), (["Age: 30"], 0, 30), (["Age: 30"], 5, 35),
        (["Date: \(Dates.aMinuteAgo)", "Age: 30"], 5, 65), (["Date: \(Dates.aMinuteAgo)", "Age: 90"], 5, 95),
        (["Age: x"], 5, 5), (["Age: -3"], 0, 0), (["Age: 7, 9"], 0, 7), (["Date: yesterday"], 0, 0),
        (["Age: 99999999999999999999"], 0, 2_147_483_648),
    ])
    func `the age of an answer when it comes`(_ lines: [String], _ delay: Int, _ age: Int) throws {
        let freshness = try Self.freshness(lines, delay: delay)
        #expect(freshness.age(at: sendingTime + delay) == .seconds(age))
        #expect(freshness.age(at: sendingTime + delay + 100) == .seconds(age + 100))
    }

    @Test func `an answer from the future counts as very old`() throws {
        let freshness = try Self.freshness(["Cache-Control: max-age=60"])
        #expect(freshness.age(at: sendingTime + -3600) > freshness.lifetime(CachingConfiguration()))
    }

    // RFC 9111 §4.2.1, for a private cache and for a shared one.
    // Proves: CCH-8.
    @Test(arguments: [
        (["Cache-Control: max-age=60"], 60, 60), (["Cache-Control: max-age=60, s-maxage=5"], 60, 5),
        (["Cache-Control: s-maxage=5"], 0, 5), (["Cache-Control: max-age=60", "Expires: \(Dates.now)"], 60, 60),
        (["Date: \(Dates.now)", "Expires: \(Dates.inAMinute)"], 60, 60),
        (["Date: \(Dates.aMinuteAgo)", "Expires: \(Dates.inAMinute)"], 120, 120),
        (["Date: \(Dates.now)", "Expires: \(Dates.aMinuteAgo)"], 0, 0), (["Expires: 0"], 0, 0),
        (["Expires: \(Dates.inAMinute)"], 60, 60), (["Expires: \(Dates.inAMinute)", "Expires: 0"], 0, 0),
        (["Expires: 0", "Last-Modified: \(Dates.aYearAgo)"], 0, 0),
    ])
    func `an answer tells how long it is fresh`(_ lines: [String], _ own: Int, _ shared: Int) throws {
        let freshness = try Self.freshness(lines)
        #expect(freshness.lifetime(CachingConfiguration()) == .seconds(own))
        #expect(freshness.lifetime(.shared) == .seconds(shared))
    }

    // RFC 9111 §5.3: a date in no form of HTTP's has passed.
    @Test(arguments: [
        "Thu, 18 Aug 2050 2:01:18 GMT", "Thu, 18 Aug 50 02:01:18 GMT", "Thu 18 Aug 2050 02:01:18 GMT",
        "Thu,  18  Aug  2050 02:01:18 GMT", "Thu, 18-Aug-2050 02:01:18 GMT", "Thu, 18 Aug 2050 02.01.18 GMT",
        "Thu, 18 Aug 2050 02:01:18 UTC", "Thu, 18 Aug 2050 02:01:18 AEST", "Thu, 18 Aug 2050 02:01:18", "-1",
    ])
    func `an expiry date in no form of HTTP's has passed`(_ date: String) throws {
        let freshness = try Self.freshness(["Expires: \(date)", "Last-Modified: \(Dates.aYearAgo)"])
        #expect(freshness.lifetime(CachingConfiguration()) == .zero)
    }

    @Test(arguments: ["Thu, 18 Aug 2050 02:01:18 GMT", "Thursday, 18-Aug-50 02:01:18 GMT", "Thu Aug 18 02:01:18 2050"])
    func `an expiry date in a form of HTTP's counts`(_ date: String) throws {
        #expect(try Self.freshness(["Expires: \(date)"]).lifetime(CachingConfiguration()) > .seconds(86_400))
    }

    // RFC 9111 §4.2.2.
    // Proves: CCH-8.
    @Test func `an answer that does not tell is fresh for a tenth of its content's age, a day at most`() throws {
        let lines = ["Date: \(Dates.now)", "Last-Modified: \(Dates.tenDaysAgo)"]
        #expect(try Self.freshness(lines).lifetime(CachingConfiguration()) == .seconds(86_400))
        var longer = CachingConfiguration()
        longer.maximumHeuristicLifetime = .seconds(864_000)
        #expect(try Self.freshness(lines).lifetime(longer) == .seconds(86_400))
        let old = ["Date: \(Dates.now)", "Last-Modified: \(Dates.aYearAgo)"]
        #expect(try Self.freshness(old).lifetime(CachingConfiguration()) == .seconds(86_400))
        #expect(try Self.freshness(old).lifetime(longer) == .seconds(864_000))
        longer.maximumHeuristicLifetime = .zero
        #expect(try Self.freshness(old).lifetime(longer) == .zero)
        let minute = ["Date: \(Dates.now)", "Last-Modified: \(Dates.aMinuteAgo)"]
        #expect(try Self.freshness(minute).lifetime(CachingConfiguration()) == .seconds(6))
    }

    // Proves: CCH-8.
    @Test func `heuristics are for the statuses that allow them and for what is public`() throws {
        let lines = ["Date: \(Dates.now)", "Last-Modified: \(Dates.tenDaysAgo)"]
        #expect(try Self.freshness(lines, status: 302).lifetime(CachingConfiguration()) == .zero)
        let open = lines + ["Cache-Control: public"]
        #expect(try Self.freshness(open, status: 302).lifetime(CachingConfiguration()) == .seconds(86_400))
        #expect(try Self.freshness(lines, status: 404).lifetime(CachingConfiguration()) == .seconds(86_400))
    }
}
