import FetchJobs
import TestSupport
import Testing

@testable import FetchRuntime

/// Which gates a node looks at, and when.
@Suite struct GatesTests {
    private let clock = ManualClock()

    @Test func `limiters are due at once, after their time, or all together`() {
        let gates = Gates(clock: clock.clock)
        let hosts = ["a.example", "b.example"].map { Limiter.Address(tenant: .first, kind: .host, key: $0) }
        #expect(gates.take() == nil)
        #expect(gates.untilNext() == nil)
        gates.note([hosts[0]: .seconds(10), hosts[1]: .seconds(20)])
        #expect(gates.take() == nil)
        #expect(gates.untilNext() == .seconds(10))
        clock.advance(by: .seconds(10))
        #expect(gates.take()?.limiters == [hosts[0]])
        gates.note([hosts[1]])
        #expect(gates.take()?.limiters == [hosts[1]])
        gates.note([hosts[0]: .seconds(10)])
        gates.note(nil)
        #expect(gates.untilNext() == .zero)
        let all = gates.take()
        #expect(all != nil && all?.limiters == nil)
        #expect(gates.take() == nil)
    }

    @Test func `of two times for a limiter the earlier counts`() {
        let gates = Gates(clock: clock.clock)
        let host = Limiter.Address(tenant: .first, kind: .host, key: "a.example")
        gates.note([host: .seconds(10)])
        gates.note([host: .seconds(20)])
        #expect(gates.untilNext() == .seconds(10))
    }
}
