import FetchJobs
import Testing

@Suite struct AuditTallyTests {
    private let start = Timestamp(microseconds: 1_000_000_000_000)
    private let tenant = Tenant.ID(rawValue: 7)

    private func refusal(_ object: String) -> AuditEvent {
        AuditEvent(.refuseTarget, object, of: tenant, by: .service)
    }

    @Test func `the first of its kind is due at once, and its repeats as one a minute later`() {
        var tally = AuditTally()
        tally.add(refusal("a"), at: start)
        #expect(tally.due(at: start.advanced(by: .seconds(1))).map(\.count) == [1])
        for second in 2...30 { tally.add(refusal("a"), at: start.advanced(by: .seconds(second))) }
        #expect(tally.due(at: start.advanced(by: .seconds(59))) == [])
        let rest = tally.due(at: start.advanced(by: .seconds(60)))
        #expect(rest.map(\.count) == [29])
        #expect(rest.first?.first == start.advanced(by: .seconds(2)))
        #expect(rest.first?.last == start.advanced(by: .seconds(30)))
        #expect(tally.isEmpty)
    }

    @Test func `a request is not told apart by its id`() {
        var tally = AuditTally()
        for number in 1...5 {
            tally.add(AuditEvent(.refuseRequest, by: AuditActor(.anonymous, request: "\(number)")), at: start)
        }
        #expect(tally.due(at: start).map(\.count) == [5])
    }

    // A hostile tenant: a different target each time, as fast as it can.
    @Test func `a chain gets few entries a minute, and all that happened is counted`() {
        var tally = AuditTally()
        var (entries, counted) = (0, Int64(0))
        for second in 0..<600 {
            let now = start.advanced(by: .seconds(second))
            for number in 0..<100 { tally.add(refusal("\(second)/\(number)"), at: now) }
            let due = tally.due(at: now)
            entries += due.count
            counted += due.reduce(0) { $0 + $1.count }
        }
        counted += tally.due(at: start.advanced(by: .seconds(600)), isLast: true).reduce(0) { $0 + $1.count }
        #expect(counted == 60_000)
        // The budget, and two a minute of what is beyond it.
        #expect(entries <= 60 + 60 + 22, "\(entries)")
        var other = tally
        let quiet = AuditEvent(.refuseTarget, "b", of: Tenant.ID(rawValue: 8), by: .service)
        other.add(quiet, at: start.advanced(by: .seconds(601)))
        #expect(other.due(at: start.advanced(by: .seconds(601))).map(\.event) == [quiet], "another chain has its own")
    }

    @Test func `what could not be written is due again, and counted once`() {
        var tally = AuditTally()
        for _ in 0..<3 { tally.add(refusal("a"), at: start) }
        let due = tally.due(at: start)
        tally.putBack(due)
        tally.add(refusal("a"), at: start.advanced(by: .seconds(1)))
        #expect(tally.due(at: start.advanced(by: .seconds(1))).map(\.count) == [4])
    }
}
