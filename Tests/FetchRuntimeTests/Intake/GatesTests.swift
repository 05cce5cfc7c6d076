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
        #expect(gates.take() == .limiters([hosts[0]]))
        gates.note([hosts[1]])
        #expect(gates.take() == .limiters([hosts[1]]))
        gates.note([hosts[0]: .seconds(10)])
        gates.note(nil)
        #expect(gates.untilNext() == .zero)
        #expect(gates.take() == .look(after: nil))
        #expect(gates.take() == nil)
        gates.noteFound([])
        // That one has its time still.
        #expect(gates.take() == nil && gates.untilNext() == .seconds(10))
    }

    private static func limiters(_ count: Int, of tenant: Tenant.ID = .first) -> [Limiter.Address] {
        (0..<count).map { Limiter.Address(tenant: tenant, kind: .flow, key: "k\($0)") }
    }

    @Test func `a look at all goes on part by part, in turn with what is due`() {
        let gates = Gates(clock: clock.clock, limit: 2)
        let (all, other) = (Self.limiters(3), Limiter.Address(tenant: .second, kind: .host, key: "b.example"))
        gates.note(nil)
        gates.note(nil)
        #expect(gates.take() == .look(after: nil))
        gates.noteFound(Array(all[..<2]))
        #expect(gates.untilNext() == .zero)
        gates.note([other])
        guard case .limiters(let due) = gates.take() else { Issue.record("nothing is due"); return }
        #expect(due.count == 2 && due.contains(other))
        #expect(gates.take() == .look(after: all[1]))
        gates.noteFound([all[2]])
        guard case .limiters(let rest) = gates.take() else { Issue.record("nothing is due"); return }
        #expect(Set(due + rest) == Set(all + [other]))
        #expect(gates.take() == nil && gates.untilNext() == nil)
    }

    @Test func `a limiter that is due all the time holds up neither a look at all nor others that are due`() {
        let gates = Gates(clock: clock.clock, limit: 1)
        let all = Self.limiters(2)
        gates.note(nil)
        gates.note([all[0]])
        #expect(gates.take() == .limiters([all[0]]))
        gates.note([all[0]])
        #expect(gates.take() == .look(after: nil))
        gates.noteFound([])
        clock.advance(by: .seconds(1))
        gates.note([all[1], all[0]])
        #expect(gates.take() == .limiters([all[0]]))
        gates.note([all[0]])
        clock.advance(by: .seconds(1))
        gates.note([all[1]])
        #expect(gates.take() != nil && gates.take() != nil && gates.take() == nil)
    }

    @Test func `a look at all ends before the next begins, and one that broke off goes on when it is asked for`() {
        let gates = Gates(clock: clock.clock, limit: 1)
        let all = Self.limiters(2)
        gates.note(nil)
        #expect(gates.take() == .look(after: nil))
        gates.noteFound([all[0]])
        #expect(gates.take() == .limiters([all[0]]))
        #expect(gates.take() == .look(after: all[0]))
        // It could not be read.
        #expect(gates.take() == nil && gates.untilNext() == nil)
        gates.note(nil)
        #expect(gates.take() == .look(after: all[0]))
        gates.noteFound([])
        #expect(gates.take() == .look(after: nil))
        gates.noteFound([])
        #expect(gates.take() == nil)
    }

    @Test func `of many that are due each tenant has its share`() {
        let gates = Gates(clock: clock.clock, limit: 10)
        let few = Self.limiters(3, of: .second)
        gates.note(Self.limiters(100))
        clock.advance(by: .seconds(1))
        gates.note(few)
        guard case .limiters(let due) = gates.take() else { Issue.record("nothing is due"); return }
        #expect(due.count == 8 && Set(few).isSubset(of: due))
    }

    @Test func `of two times for a limiter the earlier counts`() {
        let gates = Gates(clock: clock.clock)
        let host = Limiter.Address(tenant: .first, kind: .host, key: "a.example")
        gates.note([host: .seconds(10)])
        gates.note([host: .seconds(20)])
        #expect(gates.untilNext() == .seconds(10))
    }
}
