import FetchEngine
import FetchJobs
import FetchStorage
import TestSupport
import Testing

/// R17: the bandwidth that jobs share, as two nodes know of it.
@Suite struct SharedBandwidthTests {
    private static let flow = Limiter.Address(tenant: Tenant.ID(rawValue: 1), kind: .flow, key: "k")

    /// The bandwidths of a job of the first tenant in a flow, on a node.
    private static func limits(_ fixture: StoreFixture, _ node: Int) throws -> [Int64?] {
        let spec = try JobSpec.make(more: #", "flow": {"key": "k"}"#)
        let job = ClaimedJob(id: Job.ID(), tenant: fixture.tenant, spec: spec, claim: 1)
        return fixture.limiters[node].bandwidths.bandwidths(of: job).map(\.bytesPerSecond)
    }

    private static func limits(_ bytesPerSecond: Int64?) throws -> SharedLimits {
        var limits = SharedLimits()
        limits.maximumBytesPerSecond = bytesPerSecond
        return limits
    }

    @Test func `what is set for limiters, their tenant and all holds on every node, which all have the same part`()
        async throws
    {
        try await StoreFixture.with { fixture in
            let host = Limiter.Address(tenant: fixture.tenant, kind: .host, key: "origin.example")
            let store = PostgresLimiterStore(
                client: fixture.database.client, known: fixture.limiters[0], intake: nil, announce: {})
            let tenants = PostgresTenantStore(client: fixture.database.client)
            try await store.set(try Self.limits(4000), of: Self.flow)
            try await store.set(try Self.limits(3000), of: host)
            #expect(try await store.limiter(host)?.limits.maximumBytesPerSecond == 3000)
            #expect(try Self.limits(fixture, 0) == [4000, 3000])
            for node in [0, 1, 0] { _ = try await fixture.queue(node).heartbeat() }
            for node in [0, 1] { #expect(try Self.limits(fixture, node) == [2000, 1500]) }

            let name = try #require(try await tenants.tenants(after: nil, limit: 1).first?.tenant.name)
            #expect(try await tenants.setBandwidth(8000, ofTenant: name))
            #expect(try await tenants.setBandwidth(9000, ofTenant: nil))
            #expect(try await tenants.setBandwidth(1, ofTenant: "nobody") == false)
            _ = try await fixture.queue(1).heartbeat()
            #expect(try Self.limits(fixture, 1) == [4500, 4000, 2000, 1500])
            #expect(try await store.queue(of: fixture.tenant).maximumBytesPerSecond == 8000)
            #expect(try await tenants.tenants(after: nil, limit: 1).first?.limits[.maximumBytesPerSecond] == 8000)

            #expect(try await tenants.setBandwidth(nil, ofTenant: name))
            #expect(try await tenants.setBandwidth(nil, ofTenant: nil))
            #expect(try await store.remove(Self.flow))
            try await store.set(SharedLimits(), of: host)
            _ = try await fixture.queue(1).heartbeat()
            #expect(try Self.limits(fixture, 1).isEmpty)
        }
    }

    @Test func `a node that starts later knows what was set; jobs of others are not bounded by it`() async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresLimiterStore(
                client: fixture.database.client, known: fixture.limiters[0], intake: nil, announce: {})
            try await store.set(try Self.limits(4000), of: Self.flow)
            try await fixture.limiters[1].refresh()
            #expect(try Self.limits(fixture, 1) == [4000])
            let other = ClaimedJob(id: Job.ID(), tenant: Tenant.ID(rawValue: 2), spec: try .make(), claim: 1)
            #expect(fixture.limiters[1].bandwidths.bandwidths(of: other).isEmpty)
        }
    }

    // R35
    @Test func `a host keeps its bandwidth when its circuit closes`() async throws {
        try await StoreFixture.with { fixture in
            let host = Limiter.Address(tenant: fixture.tenant, kind: .host, key: "origin.example")
            let store = PostgresLimiterStore(
                client: fixture.database.client, known: fixture.limiters[0], intake: nil, announce: {})
            try await store.set(try Self.limits(3000), of: host)
            let circuit = Limiter.OpenCircuit(until: .now.advanced(by: .seconds(-1)), reason: "429, Retry-After")
            #expect(try await fixture.queue().heed(.open(circuit), of: host, askedAt: .now))
            #expect(try await fixture.queue().heed(.proceed, of: host, askedAt: .now))
            #expect(try await store.limiter(host)?.limits.maximumBytesPerSecond == 3000)
        }
    }
}
