import FetchEngine
import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

@Suite struct DeliveryClaimTests {
    @Test func `a backlog of one endpoint takes its places and no others (R51)`() async throws {
        try await StoreFixture.with { fixture in
            let (store, busy, quiet) = (try fixture.webhooks(), try fixture.endpoint(), try fixture.endpoint())
            for endpoint in [busy, quiet] { try await store.add(endpoint) }
            try await fixture.addDeliveries(200, to: busy)
            try await fixture.addDeliveries(1, to: quiet)
            let first = try await store.claimDeliveries(.init(slots: 32))
            #expect(first.count { $0.endpoint == busy.id } == 8)
            #expect(first.count { $0.endpoint == quiet.id } == 1)
            try await fixture.addDeliveries(1, to: quiet)
            let next = try await store.claimDeliveries(.init(slots: 23))
            #expect(next.map(\.endpoint) == [quiet.id])
        }
    }

    @Test func `the events of a job go one after the other, and those of others beside them`() async throws {
        try await StoreFixture.with { fixture in
            let (store, endpoint) = (try fixture.webhooks(), try fixture.endpoint())
            try await store.add(endpoint)
            let jobs = [Job.ID(), Job.ID()]
            let events = (1...3).flatMap { number in
                jobs.compactMap { job in
                    let position = JobEvent.Position(attempt: 1, number: number)
                    let event = JobEvent(position: position, name: .redirected, data: RawJSON(Array("{}".utf8)))
                    return RunEvent(event, of: job, in: nil, tenant: fixture.tenant, to: endpoint.id)
                }
            }
            try await store.add(events)
            // The reply may be lost: a stored event is stored once.
            try await store.add(events)
            for round in 0..<3 {
                let due = try await store.claimDeliveries(.init(slots: 32))
                #expect(due.map(\.id) == [events[2 * round].id, events[2 * round + 1].id])
                #expect(due.map(\.data) == [events[2 * round].data, events[2 * round + 1].data])
                for delivery in due { _ = try await store.settle(delivery, .delivered, .answered(204)) }
            }
            #expect(try await store.claimDeliveries(.init(slots: 32)).isEmpty)
        }
    }

    @Test func `an endpoint that failed gets one at a time until it takes one (R51)`() async throws {
        try await StoreFixture.with { fixture in
            let (store, endpoint) = (try fixture.webhooks(), try fixture.endpoint())
            try await store.add(endpoint)
            try await fixture.addDeliveries(20, to: endpoint)
            let first = try #require(try await store.claimDeliveries(.init(slots: 1)).first)
            #expect(try await !store.settle(first, .again(after: .seconds(60)), .unanswered))
            let second = try await store.claimDeliveries(.init(slots: 32))
            #expect(second.count == 1 && second.allSatisfy(\.endpointIsFailing))
            #expect(try await store.claimDeliveries(.init(slots: 32)).isEmpty)
            #expect(try await store.claimDeliveries(.init(slots: 32, slotsForFailing: 0)).isEmpty)
            _ = try await store.settle(second[0], .delivered, .answered(204))
            #expect(try await store.claimDeliveries(.init(slots: 32)).count == 8)
        }
    }

    // R58: an endpoint without a place finds one, however many others hold theirs.
    @Test func `places that are held are left to no tenant and no endpoint alone`() async throws {
        try await StoreFixture.with { fixture in
            let store = try fixture.webhooks()
            let hanging = try (0..<40).map { _ in try fixture.endpoint() }
            for endpoint in hanging {
                try await store.add(endpoint)
                try await fixture.addDeliveries(20, to: endpoint)
            }
            let held = try await store.claimDeliveries(.init(slots: 256))
            #expect((100...128).contains(held.count), "\(held.count)")
            let healthy = try fixture.endpoint()
            try await store.add(healthy)
            try await fixture.addDeliveries(5, to: healthy)
            let room = DeliveryRoom(
                slots: 256 - held.count, underWayOfTenants: [fixture.tenant: held.count])
            #expect(try await store.claimDeliveries(room).contains { $0.endpoint == healthy.id })
        }
    }

    @Test func `an endpoint that is slow gets one at a time, as one that failed does`() async throws {
        try await StoreFixture.with { fixture in
            let (store, slow, quick) = (try fixture.webhooks(), try fixture.endpoint(), try fixture.endpoint())
            for endpoint in [slow, quick] {
                try await store.add(endpoint)
                try await fixture.addDeliveries(20, to: endpoint)
            }
            let claimed = try await store.claimDeliveries(.init(slots: 64, slow: [slow.id]))
            #expect(claimed.count { $0.endpoint == slow.id } == 1)
            #expect(claimed.count { $0.endpoint == quick.id } == 8)
            #expect(claimed.first { $0.endpoint == slow.id }?.endpointIsFailing == true)
        }
    }

    @Test(arguments: [true, false])
    func `an endpoint gets so many at once of all nodes together, and one when it fails`(_ isFailing: Bool) async throws
    {
        try await StoreFixture.with { fixture in
            let (store, endpoint) = (try fixture.webhooks(), try fixture.endpoint())
            try await store.add(endpoint)
            try await fixture.addDeliveries(40, to: endpoint)
            if isFailing {
                let first = try #require(try await store.claimDeliveries(.init(slots: 1)).first)
                #expect(try await !store.settle(first, .again(after: .seconds(60)), .unanswered))
            }
            let claimed = try await withThrowingTaskGroup(of: [WebhookDelivery].self) { group in
                for _ in 0..<6 { group.addTask { try await store.claimDeliveries(.init(slots: 32)) } }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(claimed.count == (isFailing ? 1 : 8))
            // One that is over makes room, and who has the others gets it.
            _ = try await store.settle(claimed[0], .delivered, .answered(204))
            let others = [endpoint.id: DeliveryRoom.Holding(count: claimed.count - 1, limit: 8)]
            #expect(try await store.claimDeliveries(.init(slots: 32)).count == (isFailing ? 8 : 0))
            let room = DeliveryRoom(slots: 32, endpoints: others)
            #expect(try await store.claimDeliveries(room).count == (isFailing ? 0 : 1))
        }
    }

    @Test func `one node alone has the next ones at hand, and another one gets what it has not`() async throws {
        try await StoreFixture.with { fixture in
            let (store, endpoint) = (try fixture.webhooks(), try fixture.endpoint())
            try await store.add(endpoint)
            try await fixture.addDeliveries(60, to: endpoint)
            func claim(having count: Int) async throws -> [WebhookDelivery] {
                try await store.claimDeliveries(
                    .init(slots: 256, endpoints: [endpoint.id: .init(count: count, limit: 40)]))
            }
            let first = try await claim(having: 0)
            #expect(first.count == 40)
            #expect(try await claim(having: 40).isEmpty)
            // A node that has none does not come between.
            #expect(try await store.claimDeliveries(.init(slots: 256)).isEmpty)
            for delivery in first.dropLast(3) { _ = try await store.settle(delivery, .delivered, .answered(204)) }
            // Of three that the first one has left, the other one gets those up to eight.
            let second = try await store.claimDeliveries(.init(slots: 256))
            #expect(second.count == 5)
            #expect(try await claim(having: 3).isEmpty)
            for delivery in first.suffix(3) { _ = try await store.settle(delivery, .delivered, .answered(204)) }
            #expect(try await claim(having: 5).count == 15)
        }
    }

    // Statistics from a moment when nothing waits make every index of what waits look as good as any other.
    @Test(arguments: [true, false])
    func `a claim looks at few pages, however much an endpoint has had and has on its way`(_ isAnalyzed: Bool)
        async throws
    {
        try await TestDatabase.withCountedPages { database in
            let fixture = try StoreFixture(database: database)
            let (store, endpoint) = (try fixture.webhooks(), try fixture.endpoint())
            try await store.add(endpoint)
            func pages() async throws -> Int64 {
                try await fixture.addDeliveries(8, to: endpoint)
                var claimed: [WebhookDelivery] = []
                let pages = try await database.pages { claimed = try await store.claimDeliveries(.init(slots: 32)) }
                #expect(claimed.count == 8)
                try await database.client.query("UPDATE webhook_deliveries SET state = 'delivered' WHERE attempts > 0")
                return pages
            }
            let few = try await pages()
            try await fixture.addDeliveries(9000, to: endpoint)
            try await database.client.query("UPDATE webhook_deliveries SET state = 'delivered'")
            if isAnalyzed { try await database.client.query("ANALYZE webhook_deliveries") }
            try await fixture.addDeliveries(9000, to: endpoint)
            // The first one finds what was delivered, and marks it as dead in the index.
            _ = try await pages()
            let many = try await pages()
            #expect(many < 3 * few, "\(few) pages of few, \(many) of many")
        }
    }

    @Test func `what is claimed has its endpoint, and none when that was removed or cannot be opened`() async throws {
        try await StoreFixture.with { fixture in
            let store = try fixture.webhooks()
            let endpoints = [try fixture.endpoint(), try fixture.endpoint(), try fixture.endpoint()]
            for endpoint in endpoints {
                try await store.add(endpoint)
                try await fixture.addDeliveries(3, to: endpoint)
            }
            try await fixture.database.client.query("DELETE FROM webhook_endpoints WHERE id = \(endpoints[1].id)")
            try await fixture.database.client.query(
                "UPDATE webhook_endpoints SET sealed_secret = '' WHERE id = \(endpoints[2].id)")
            let claimed = try await store.claimDeliveries(.init(slots: 64))
            #expect(claimed.count == 9)
            for delivery in claimed {
                #expect(delivery.receiver?.id == (delivery.endpoint == endpoints[0].id ? endpoints[0].id : nil))
                if let receiver = delivery.receiver { #expect(receiver.secret == endpoints[0].secret) }
            }
        }
    }

    @Test func `two nodes claim different deliveries`() async throws {
        try await StoreFixture.with { fixture in
            let (store, endpoint) = (try fixture.webhooks(), try fixture.endpoint())
            try await store.add(endpoint)
            try await fixture.addDeliveries(16, to: endpoint)
            async let first = store.claimDeliveries(.init(slots: 32))
            async let second = store.claimDeliveries(.init(slots: 32))
            let room = DeliveryRoom(
                slots: 64, slotsPerEndpoint: 16, endpoints: [endpoint.id: .init(count: 8, limit: 16)])
            let claimed = try await first + second + store.claimDeliveries(room)
            #expect(Set(claimed.map(\.id)).count == 16 && claimed.count == 16)
        }
    }
}

@Suite struct DeliveryStoreTests {
    @Test func `outcomes of many kinds that come together are stored together, each as it is`() async throws {
        try await StoreFixture.with { fixture in
            let (store, endpoint) = (try fixture.webhooks(), try fixture.endpoint())
            try await store.add(endpoint)
            try await fixture.addDeliveries(40, to: endpoint)
            let claimed = try await store.claimDeliveries(.init(slots: 256, slotsPerEndpoint: 40))
            #expect(claimed.count == 40)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, delivery) in claimed.enumerated() {
                    group.addTask {
                        switch number % 4 {
                        case 0: _ = try await store.settle(delivery, .delivered, .answered(204))
                        case 1: _ = try await store.settle(delivery, .again(after: .seconds(300)), .unanswered)
                        case 2: _ = try await store.settle(delivery, .abandoned, .answered(500))
                        default: try await store.release([delivery])
                        }
                    }
                }
                try await group.waitForAll()
            }
            for (number, delivery) in claimed.enumerated() {
                let stored = try #require(try await store.delivery(delivery.id, of: fixture.tenant))
                let isUnsent = number % 4 == 3
                #expect(stored.state == [.delivered, .pending, .abandoned, .pending][number % 4])
                #expect(stored.lastStatus == [204, nil, 500, nil][number % 4])
                #expect(stored.delivery.attempts == (isUnsent ? 0 : 1) && stored.attempts.count == (isUnsent ? 0 : 1))
                #expect((stored.lastAttemptAt == nil) == isUnsent)
                #expect((stored.nextAttemptAt > .now.advanced(by: .seconds(200))) == (number % 4 == 1))
            }
        }
    }

    @Test func `every attempt is kept, with what was sent and what came back`() async throws {
        try await StoreFixture.with { fixture in
            let (store, endpoint) = (try fixture.webhooks(), try fixture.endpoint())
            try await store.add(endpoint)
            try await fixture.addDeliveries(1, to: endpoint)
            let first = try #require(try await store.claimDeliveries(.init(slots: 1)).first)
            _ = try await store.settle(first, .again(after: .zero), .unanswered)
            let second = try #require(try await store.claimDeliveries(.init(slots: 1)).first)
            let answered = DeliveryAttempt?.answered(204, number: 2, body: "thanks")
            _ = try await store.settle(second, .delivered, answered)
            let stored = try #require(try await store.delivery(first.id, of: fixture.tenant))
            #expect(stored.state == .delivered && stored.lastStatus == 204 && stored.delivery.attempts == 2)
            #expect(stored.attempts == [.unanswered, answered].compactMap { $0 })
            #expect(try await store.delivery(first.id, of: Tenant.ID(rawValue: 2)) == nil)
        }
    }

    @Test func `who reads on while two nodes deliver to a polled endpoint misses nothing, and gets nothing twice`()
        async throws
    {
        try await StoreFixture.with { fixture in
            let store = try fixture.webhooks()
            let endpoint = WebhookEndpoint(tenant: fixture.tenant, url: nil, events: WebhookEvent.allCases)
            try await store.add(endpoint)
            try await fixture.addDeliveries(200, to: endpoint)
            let claimed = try await store.claimDeliveries(.init(slots: 1000, slotsPerEndpoint: 200))
            try #require(claimed.count == 200)
            let nodes = [store, try fixture.webhooks()]
            var read: [WebhookDelivery.ID] = []
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, delivery) in claimed.shuffled().enumerated() {
                    group.addTask { _ = try await nodes[number % 2].settle(delivery, .delivered, nil) }
                }
                while read.count < claimed.count {
                    let page = DeliveryPage(limit: 7, after: read.last)
                    let next = try await store.events(of: .endpoint(endpoint.id), fixture.tenant, page: page)
                    read += try #require(next).map(\.id)
                }
                try await group.waitForAll()
            }
            #expect(Set(read) == Set(claimed.map(\.id)) && read.count == claimed.count)
        }
    }

    @Test func `a replay sends the same message on a new schedule, unless its endpoint is disabled`() async throws {
        try await StoreFixture.with { fixture in
            let (store, endpoint) = (try fixture.webhooks(), try fixture.endpoint())
            try await store.add(endpoint)
            try await fixture.addDeliveries(2, to: endpoint)
            let claimed = try await store.claimDeliveries(.init(slots: 8))
            for delivery in claimed { _ = try await store.settle(delivery, .abandoned, .answered(500)) }
            #expect(try await fixture.deliveryStates() == ["abandoned": 2])
            let since = Timestamp.now.advanced(by: .seconds(-60))
            let future = Timestamp.now.advanced(by: .seconds(3600))
            #expect(try await store.replayFailed(of: endpoint.id, fixture.tenant, since: future) == 0)
            #expect(try await store.replay(claimed[0].id, of: Tenant.ID(rawValue: 2)) == false)
            #expect(try await store.replay(claimed[0].id, of: fixture.tenant))
            #expect(try await store.replayFailed(of: endpoint.id, fixture.tenant, since: since) == 1)
            let again = try #require(try await store.claimDeliveries(.init(slots: 1)).first)
            #expect(claimed.map(\.id).contains(again.id) && again.attempts == 1 && again.failures == 0)
            var disabled = try #require(try await store.endpoint(endpoint.id, of: fixture.tenant))
            disabled.disabling = .init(at: .now, reason: .requested)
            #expect(try await store.update(disabled, rotation: nil) != nil)
            #expect(try await fixture.deliveryStates() == ["abandoned": 2])
            #expect(try await store.replay(claimed[0].id, of: fixture.tenant) == false)
            #expect(try await store.replayFailed(of: endpoint.id, fixture.tenant, since: since) == 0)
        }
    }
}

/// An endpoint that takes nothing for five days, or wants nothing more, is disabled and says so.
@Suite struct EndpointHealthTests {
    // Proves: SEC-36.
    @Test(
        arguments: [(500, 6 * 24, "failing"), (500, 4 * 24, nil), (410, 0, "gone"), (204, 6 * 24, nil)]
            as [(Int, Int, String?)])
    func `an endpoint is disabled when it has failed for long enough or is gone`(
        status: Int, hours: Int, reason: String?
    ) async throws {
        try await StoreFixture.with { fixture in
            let (store, endpoint) = (try fixture.webhooks(), try fixture.endpoint())
            let (told, other) = (try fixture.endpoint(), try fixture.endpoint([.jobFinished]))
            for endpoint in [endpoint, told, other] { try await store.add(endpoint) }
            try await fixture.database.client.query(
                """
                UPDATE webhook_endpoints
                SET failing_since = now() - \(Duration.seconds(hours * 3600))
                WHERE id = \(endpoint.id) AND \(hours) > 0
                """
            )
            try await fixture.addDeliveries(3, to: endpoint)
            let delivery = try #require(try await store.claimDeliveries(.init(slots: 1)).first)
            let verdict = DeliveryVerdict(status: status, failures: 0, jitter: 0)
            #expect(try await store.settle(delivery, verdict, .answered(status)) == (reason != nil))
            let now = try #require(try await store.endpoint(endpoint.id, of: fixture.tenant))
            #expect(now.disabling?.reason.rawValue == reason)
            #expect((now.failingSince == nil) == (status == 204))
            try await store.abandonDeliveries(to: endpoint.id, of: fixture.tenant)
            let events = try await store.claimDeliveries(.init(slots: 9)).filter { $0.event == .endpointDisabled }
            #expect(events.map(\.endpoint) == (reason == nil ? [] : [told.id]))
            #expect(events.allSatisfy { $0.subject == .endpoint(endpoint.id) })
            guard reason != nil else { return }
            #expect(try await fixture.deliveryStates()["abandoned"] == 3)
            #expect(now.version == 2)
        }
    }
}
