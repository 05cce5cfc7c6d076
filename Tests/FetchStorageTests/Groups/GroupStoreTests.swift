import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

@Suite struct GroupStoreTests {
    private func store(_ fixture: StoreFixture) -> PostgresGroupStore {
        PostgresGroupStore(client: fixture.database.client)
    }

    private func group(_ fixture: StoreFixture, endpoint: WebhookEndpoint? = nil) async throws -> JobGroup {
        let webhook = endpoint.map { #""webhook": {"endpoint": "\#($0.id)"}"# } ?? ""
        let spec = try JobGroupSpec(json: JSONParser.parse("{\(webhook)}".utf8))
        let group = JobGroup(tenant: fixture.tenant, spec: spec)
        guard case .created(let group) = try await store(fixture).create(group, nil) else {
            throw StoreError(.failed, "not created")
        }
        return group
    }

    private func jobs(_ count: Int, of group: JobGroup.ID) throws -> [NewJob] {
        try (0..<count).map { _ in try .make(more: #", "group": "\#(group)""#) }
    }

    private func state(_ group: JobGroup, _ fixture: StoreFixture) async throws -> JobGroupState? {
        try await store(fixture).group(group.id, of: fixture.tenant)?.state
    }

    // R55
    @Test func `a group is finished when it is closed and its last job is final, and that is told once`() async throws {
        try await StoreFixture.with { fixture in
            let endpoint = try fixture.endpoint()
            try await fixture.webhooks().add(endpoint)
            let group = try await group(fixture, endpoint: endpoint)
            _ = try await fixture.store().enqueue(try jobs(3, of: group.id))
            let claimed = try await fixture.queue().claim(limit: 2)
            #expect(
                try await store(fixture).counts(of: group.id, tenant: fixture.tenant) == [.running: 2, .queued: 1])
            #expect(try await fixture.queue().settle(claimed[0], .make(.failed)))
            try await store(fixture).settle()
            #expect(try await state(group, fixture) == .open)
            #expect(try await store(fixture).close(group.id, of: fixture.tenant)?.state == .closed)
            #expect(try await store(fixture).remove(group.id, of: fixture.tenant) == false)
            let waiting = try await fixture.queue().claim(limit: 9)
            #expect(try await fixture.queue().settle(claimed[1], .make()))
            try await store(fixture).settle()
            #expect(try await state(group, fixture) == .closed)

            // The node that settled the last one dies before it has looked.
            #expect(try await fixture.queue().settle(waiting[0], .make()))
            #expect(try await fixture.queue(1).heartbeat().hasUnsettledEnds)
            try await withThrowingDiscardingTaskGroup { tasks in
                for _ in 0..<4 { tasks.addTask { try await store(fixture).settle() } }
            }
            #expect(try await state(group, fixture) == .finished)
            #expect(try await fixture.queue(1).heartbeat().hasUnsettledEnds == false)
            let told = try await fixture.webhooks().claimDeliveries(DeliveryRoom(slots: 9))
            #expect(told.map(\.event) == [.groupFinished] && told.first?.subject == .group(group.id))
            #expect(
                try await store(fixture).counts(of: group.id, tenant: fixture.tenant) == [.succeeded: 2, .failed: 1])

            // A job that runs again does not finish the group again.
            let again = NewJob(id: claimed[0].id, tenant: fixture.tenant, spec: claimed[0].spec)
            #expect(try await fixture.store().redrive([again]) == [again.id])
            try await store(fixture).settle()
            #expect(try await fixture.count("webhook_deliveries") == 1)
            #expect(try await store(fixture).remove(group.id, of: Tenant.ID(rawValue: 2)) == false)
            #expect(try await store(fixture).remove(group.id, of: fixture.tenant))
        }
    }

    @Test func `a group that is closed takes no jobs, nor does one of another tenant`() async throws {
        try await StoreFixture.with { fixture in
            let (open, closed) = (try await group(fixture), try await group(fixture))
            #expect(try await store(fixture).close(closed.id, of: fixture.tenant)?.state == .finished)
            let stranger = NewJob(
                tenant: Tenant.ID(rawValue: 2), spec: try .make(more: #", "group": "\#(open.id)""#))
            let jobs = try jobs(1, of: open.id) + jobs(1, of: closed.id) + [stranger] + jobs(1, of: JobGroup.ID())
            let enqueued = try await fixture.store().enqueue(jobs)
            #expect(enqueued == [.accepted(jobs[0].id), .groupClosed, .groupClosed, .groupClosed])
            #expect(try await fixture.count("jobs") == 1)
            #expect(try await store(fixture).close(JobGroup.ID(), of: fixture.tenant) == nil)
        }
    }

    /// Closed groups with a job each, in the order of a look at all; of the last one, it has ended.
    private func closed(_ count: Int, _ fixture: StoreFixture) async throws -> [JobGroup] {
        var groups: [JobGroup] = []
        for _ in 0..<count {
            let group = try await group(fixture)
            _ = try await fixture.store().enqueue(try jobs(1, of: group.id))
            #expect(try await store(fixture).close(group.id, of: fixture.tenant)?.state == .closed)
            groups.append(group)
        }
        groups.sort { $0.id < $1.id }
        let claimed = try await fixture.queue().claim(limit: count)
        let job = try #require(claimed.first { $0.spec.group == groups.last?.id })
        #expect(try await fixture.queue().settle(job, .make()))
        return groups
    }

    @Test func `groups are finished part by part, and many that wait hide none that is quiet`() async throws {
        try await StoreFixture.with { fixture in
            let groups = try await closed(5, fixture)
            let places = groups.map { JobGroup.Address(tenant: $0.tenant, id: $0.id) }
            #expect(try await store(fixture).settle(after: nil, limit: 2) == places[1])
            #expect(try await store(fixture).settle(after: places[1], limit: 2) == places[3])
            #expect(try await state(groups[4], fixture) == .closed)
            #expect(try await store(fixture).settle(after: places[3], limit: 2) == nil)
            #expect(try await state(groups[4], fixture) == .finished)
            for group in groups.dropLast() { #expect(try await state(group, fixture) == .closed) }
        }
    }

    @Test func `who closes a group finishes that one alone, and does so once`() async throws {
        try await StoreFixture.with { fixture in
            let groups = try await closed(2, fixture)
            let other = try await group(fixture)
            #expect(try await store(fixture).close(other.id, of: fixture.tenant)?.state == .finished)
            #expect(try await store(fixture).close(groups[1].id, of: fixture.tenant)?.state == .closed)
            try await store(fixture).settle([JobGroup.Address(tenant: Tenant.ID(rawValue: 2), id: groups[1].id)])
            #expect(try await state(groups[1], fixture) == .closed)
            try await store(fixture).settle(groups.map { JobGroup.Address(tenant: $0.tenant, id: $0.id) })
            #expect(try await state(groups[0], fixture) == .closed)
            #expect(try await state(groups[1], fixture) == .finished)
        }
    }

    @Test func `a group never finishes before a job that it has taken`() async throws {
        try await StoreFixture.with { fixture in
            for _ in 0..<10 {
                let group = try await group(fixture)
                let accepted = try await withThrowingTaskGroup(of: Int.self) { tasks in
                    for node in [0, 1, 0, 1] {
                        let jobs = try jobs(5, of: group.id)
                        tasks.addTask {
                            try await fixture.store(node).enqueue(jobs).count { $0 != .groupClosed }
                        }
                    }
                    tasks.addTask {
                        _ = try await store(fixture).close(group.id, of: fixture.tenant)
                        return 0
                    }
                    return try await tasks.reduce(0, +)
                }
                try await store(fixture).settle()
                #expect(try await state(group, fixture) == (accepted == 0 ? .finished : .closed))
                let ids = try await fixture.queue().claim(limit: 99)
                #expect(ids.count == accepted)
                for job in ids { #expect(try await fixture.queue().settle(job, .make())) }
                try await store(fixture).settle()
                #expect(try await state(group, fixture) == .finished)
            }
        }
    }
}
