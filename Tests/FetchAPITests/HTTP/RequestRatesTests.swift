import FetchJobs
import HTTPTypes
import Testing

@testable import FetchAPI

/// How fast tenants may send requests.
@Suite struct RequestRatesTests {
    private let start = ContinuousClock.now
    private let tenant = Tenant.ID(rawValue: 1)

    @Test func `two seconds' worth may come at once, and then one at a time`() {
        var rates = RequestRates()
        for left in (0..<20).reversed() {
            let verdict = rates.take(of: tenant, limit: 10, at: start)
            #expect(verdict.isAllowed && verdict.quota == 20 && verdict.left == left)
        }
        let refused = rates.take(of: tenant, limit: 10, at: start)
        #expect(refused == RequestRates.Verdict(isAllowed: false, quota: 20, left: 0, reset: 1))
        #expect(!rates.take(of: tenant, limit: 10, at: start + .milliseconds(99)).isAllowed)
        #expect(rates.take(of: tenant, limit: 10, at: start + .milliseconds(100)).isAllowed)
        #expect(!rates.take(of: tenant, limit: 10, at: start + .milliseconds(199)).isAllowed)
        // What is refused takes nothing.
        #expect(rates.take(of: tenant, limit: 10, at: start + .milliseconds(200)).isAllowed)
        #expect(rates.take(of: tenant, limit: 10, at: start + .seconds(60)).left == 19)
    }

    @Test func `tenants take nothing from each other`() {
        var rates = RequestRates()
        while rates.take(of: tenant, limit: 5, at: start).isAllowed {}
        #expect(rates.take(of: Tenant.ID(rawValue: 2), limit: 5, at: start).left == 9)
    }

    @Test(arguments: [1, 1_000_000] as [Int64])
    func `the least and the greatest limit count as they say`(limit: Int64) {
        var (rates, taken) = (RequestRates(), Int64(0))
        while rates.take(of: tenant, limit: limit, at: start).isAllowed { taken += 1 }
        #expect(taken == 2 * limit)
        #expect(rates.take(of: tenant, limit: limit, at: start + .seconds(1)).isAllowed)
    }

    @Test func `another limit than before counts at once`() {
        var rates = RequestRates()
        while rates.take(of: tenant, limit: 1, at: start).isAllowed {}
        #expect(rates.take(of: tenant, limit: 1000, at: start + .milliseconds(1)).isAllowed)
        while rates.take(of: tenant, limit: 1000, at: start + .milliseconds(1)).isAllowed {}
        #expect(!rates.take(of: tenant, limit: 1, at: start + .milliseconds(10)).isAllowed)
        #expect(rates.take(of: tenant, limit: 1, at: start + .seconds(2)).isAllowed)
    }

    @Test func `a clock that goes back gives no room, and takes none for longer than a moment`() {
        var rates = RequestRates()
        while rates.take(of: tenant, limit: 10, at: start).isAllowed {}
        let back = start - .seconds(3600)
        #expect(!rates.take(of: tenant, limit: 10, at: back).isAllowed)
        #expect(rates.take(of: tenant, limit: 10, at: back).reset == 1)
        var other = RequestRates()
        _ = other.take(of: tenant, limit: 10, at: start)
        #expect(!other.take(of: tenant, limit: 10, at: back).isAllowed)
    }

    @Test func `tenants that have all their room are forgotten`() {
        var rates = RequestRates()
        for number in 0..<5000 {
            _ = rates.take(of: Tenant.ID(rawValue: Int64(number)), limit: 10, at: start + .milliseconds(number))
        }
        #expect(rates.count <= 1024)
        // Those that have not, are not: they would have room again.
        for number in 0..<5000 {
            _ = rates.take(of: Tenant.ID(rawValue: Int64(number)), limit: 1, at: start + .seconds(60))
        }
        #expect(rates.take(of: Tenant.ID(rawValue: 7), limit: 1, at: start + .seconds(60)).left == 0)
    }

    @Test func `a response that tells of another limit says only that`() {
        let verdict = RequestRates.Verdict(isAllowed: true, quota: 20, left: 19, reset: 1)
        var headers = HTTPFields()
        verdict.write(to: &headers)
        #expect(headers[.rateLimitPolicy] == #""requests";q=20;w=2"# && headers[.rateLimit] == #""requests";r=19;t=1"#)
        headers = Problem(.queueFull).limited(by: "waitingJobs", quota: 3, retryingAfter: 5).headers
        verdict.write(to: &headers)
        #expect(headers[.rateLimitPolicy] == #""waitingJobs";q=3"#)
    }
}
