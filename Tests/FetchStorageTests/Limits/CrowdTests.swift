import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// Hosts for which more jobs wait than their origins answer.
@Suite struct CrowdTests {
    private static let host = Limiter.Address(tenant: Tenant.ID(rawValue: 1), kind: .host, key: "origin.example")

    private static func enqueue(_ count: Int, _ fixture: StoreFixture, _ node: Int = 0) async throws -> [Job.ID] {
        let jobs = try (0..<count).map { _ in try NewJob.make() }
        _ = try await fixture.store(node).enqueue(jobs)
        return jobs.map(\.id)
    }

    @Test func `of the jobs of a crowded host so many run on all nodes together`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await Self.enqueue(9, fixture)
            let claimed = try await fixture.queue(0).claim(limit: 5)
            let given = try await fixture.queue(0).setCrowd(3, of: Self.host, givingBack: Array(claimed.dropFirst(2)))
            #expect(given == Set(claimed.dropFirst(2).map(\.id)))
            #expect(fixture.limiters[0].crowd(of: Self.host) == 3)
            _ = try await fixture.queue(1).heartbeat()
            #expect(fixture.limiters[1].crowd(of: Self.host) == 3)
            // A job that waits in the queue is found by claims, and sent to the gate.
            #expect(try await fixture.queue(1).claim(limit: 9).isEmpty)
            _ = try await fixture.queue(1).admit([Self.host])
            let next = try await fixture.queue(1).claim(limit: 9)
            // It was claimed before, but no attempt was made.
            #expect(next.map(\.id) == [claimed[2].id] && next.map(\.claim) == [1])
            #expect(try await fixture.queue(0).settle(claimed[0], .make()))
            _ = try await fixture.queue(0).admit([Self.host])
            #expect(try await fixture.queue(0).claim(limit: 9).count == 1)
        }
    }

    @Test func `a crowd is over once nobody has waited for a while`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.queue().setCrowd(3, of: Self.host, givingBack: [])
            let admission = try await fixture.queue().admit([Self.host])
            #expect(admission.next[Self.host] == .seconds(10))
            try await fixture.database.client.query("UPDATE limiters SET crowded_at = now() - interval '1 minute'")
            _ = try await fixture.queue().admit([Self.host])
            #expect(fixture.limiters[0].crowd(of: Self.host) == nil)
            _ = try await Self.enqueue(5, fixture)
            #expect(try await fixture.queue().claim(limit: 9).count == 5)
        }
    }

    @Test func `a job that has begun is not given back`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await Self.enqueue(1, fixture)
            let job = try #require(try await fixture.queue().claim(limit: 1).first)
            #expect(try await fixture.queue().begin(job))
            #expect(try await fixture.queue().setCrowd(1, of: Self.host, givingBack: [job]).isEmpty)
            #expect(try await fixture.queue().settle(job, .make()))
        }
    }

    @Test func `no more jobs of a tenant are claimed than there is room for`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await Self.enqueue(9, fixture)
            var room = ClaimRoom(ofOthers: 4)
            let first = try await fixture.queue().claim(upTo: 100, room: room)
            #expect(first.jobs.count == 4 && first.full == [fixture.tenant])
            room.ofTenants[fixture.tenant] = 0
            let second = try await fixture.queue().claim(upTo: 100, room: room)
            #expect(second.jobs.isEmpty && second.isLast && second.full == [fixture.tenant])
            room.ofTenants[fixture.tenant] = 2
            #expect(try await fixture.queue().claim(upTo: 100, room: room).jobs.count == 2)
        }
    }
}
