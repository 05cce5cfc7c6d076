import FetchJobs
import FetchRuntime
import TestSupport
import Testing

/// What jobs have moved, and whether their tenants may move more.
@Suite struct TrafficMeterTests {
    private let store = MemoryTrafficStore()
    private let clock = ManualClock()

    private func meter(_ limit: Int64? = 100) -> TrafficMeter {
        let limits = KnownTenantLimits(standard: limit.map { [.maximumBytesPerDay: $0] } ?? [:])
        return TrafficMeter(store: store, limits: limits, clock: clock.clock)
    }

    private func isExhausted(_ meter: TrafficMeter, _ tenant: Tenant.ID = .first) async throws -> Bool {
        try await meter.exhaustion(of: tenant, limit: 100) != nil
    }

    @Test func `what moved here counts at once, what moved elsewhere once it was read, and others are free`()
        async throws
    {
        let (meter, other) = (meter(), meter())
        meter.note(Traffic(sentBytes: 10, receivedBytes: 50), of: .first)
        #expect(try await !isExhausted(meter))
        other.note(Traffic(receivedBytes: 40), of: .first)
        try await other.write()
        #expect(try await !isExhausted(meter))
        try await meter.write()
        #expect(try await isExhausted(meter))
        #expect(try await !isExhausted(meter, .second))
        let day = try await store.add([:], reading: [.first])
        #expect(day.ofTenants == [.first: Traffic(sentBytes: 10, receivedBytes: 90)])
    }

    @Test func `a tenant is looked up once, and then with what is written`() async throws {
        let meter = meter()
        for _ in 0..<1000 { _ = try await isExhausted(meter) }
        #expect(store.statements == 1)
        for _ in 0..<10 {
            clock.advance(by: TrafficMeter.interval)
            try await meter.write()
            for _ in 0..<1000 { _ = try await isExhausted(meter) }
        }
        #expect(store.statements == 11)
        // Nobody asks any more: the tenant is forgotten.
        try await meter.write()
        try await meter.write()
        try await meter.write()
        #expect(store.statements == 12)
    }

    @Test func `nobody is let in before it is known what the tenant has moved`() async throws {
        let (meter, other) = (meter(), meter())
        other.note(Traffic(receivedBytes: 100), of: .first)
        try await other.write()
        store.fail(StoreError(.unavailable, "away"))
        for _ in 0..<2 { await #expect(throws: StoreError.self) { try await isExhausted(meter) } }
        store.fail(nil)
        #expect(try await isExhausted(meter))
    }

    @Test func `what is not limited is counted, and never read`() async throws {
        let meter = meter(nil)
        try await meter.write()
        #expect(store.statements == 0)
        meter.note(Traffic(), of: .first)
        try await meter.write()
        #expect(store.statements == 0)
        meter.note(Traffic(sentBytes: 1), of: .first)
        try await meter.write()
        try await meter.write()
        #expect(store.statements == 1)
    }

    @Test func `what the database does not take is kept, and counts`() async throws {
        let meter = meter()
        #expect(try await !isExhausted(meter))
        meter.note(Traffic(sentBytes: 60), of: .first)
        store.fail(StoreError(.unavailable, "away"))
        await #expect(throws: StoreError.self) { try await meter.write() }
        meter.note(Traffic(sentBytes: 40), of: .first)
        #expect(try await isExhausted(meter))
        store.fail(nil)
        try await meter.write()
        #expect(try await store.add([:], reading: [.first]).ofTenants == [.first: Traffic(sentBytes: 100)])
        #expect(try await isExhausted(meter))
    }

    @Test func `a new day lets the tenant go on, whatever the clock of the node says`() async throws {
        let meter = meter()
        meter.note(Traffic(sentBytes: 100), of: .first)
        try await meter.write()
        #expect(try await isExhausted(meter))
        store.beginDay(endingAt: Timestamp.now.advanced(by: .seconds(-86_400)))
        try await meter.write()
        #expect(try await !isExhausted(meter))
    }
}
