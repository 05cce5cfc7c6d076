import FetchEngine
package import FetchJobs
import HTTPTypes

/// The contract of every form of ``DeliveryQueue``.
package enum DeliveryQueueContract {
    package struct Subject: Sendable {
        let queue: any DeliveryQueue
        let store: any WebhookStore
        /// Moves all times into the past.
        let letPass: @Sendable (Duration) async throws -> Void

        package init(
            queue: any DeliveryQueue, store: any WebhookStore,
            letPass: @escaping @Sendable (Duration) async throws -> Void
        ) {
            self.queue = queue
            self.store = store
            self.letPass = letPass
        }

        fileprivate let tenant = Tenant.ID(rawValue: 1)

        fileprivate func endpoint(isPolled: Bool = false) async throws -> WebhookEndpoint {
            let url = isPolled ? nil : try URLRecord("https://receiver.example/hook")
            let endpoint = WebhookEndpoint(tenant: tenant, url: url, events: WebhookEvent.allCases)
            try await store.add(endpoint)
            return endpoint
        }

        /// Events of as many jobs, or of one.
        @discardableResult
        fileprivate func add(
            _ count: Int = 1, to endpoint: WebhookEndpoint, of job: Job.ID? = nil
        ) async throws -> [WebhookDelivery.ID] {
            let events = (1...count).compactMap { number in
                let position = JobEvent.Position(attempt: 1, number: number)
                let event = JobEvent(position: position, name: .redirected, data: RawJSON(Array("{}".utf8)))
                return RunEvent(event, of: job ?? Job.ID(), in: nil, tenant: tenant, to: endpoint.id)
            }
            try await queue.add(events)
            // The reply may be lost: a stored event is stored once.
            try await queue.add(events)
            return events.map(\.id)
        }

        fileprivate func claim(
            _ slots: Int = 100, perEndpoint: Int = 8,
            having endpoints: [WebhookEndpoint.ID: DeliveryRoom.Holding] = [:]
        ) async throws -> [WebhookDelivery] {
            try await queue.claimDeliveries(
                DeliveryRoom(slots: slots, slotsPerEndpoint: perEndpoint, endpoints: endpoints)
            )
            .sorted { $0.id < $1.id }
        }

        fileprivate func claimOne() async throws -> WebhookDelivery {
            guard let delivery = try await claim().first else { throw NothingIsDue() }
            return delivery
        }

        @discardableResult
        fileprivate func settle(
            _ delivery: WebhookDelivery, _ verdict: DeliveryVerdict, status: Int?
        ) async throws -> Bool {
            let result: DeliveryAttempt.Result =
                if let status {
                    .answer(.init(status: status, headers: [:], body: [], isWhole: true))
                } else { .error(name: "timedOut") }
            let attempt = DeliveryAttempt(
                number: delivery.attempts + 1, startedAt: .now, duration: .milliseconds(1),
                url: "https://receiver.example/hook", requestHeaders: .array { $0.headers([:]) }, result: result)
            return try await queue.settle(delivery, verdict, attempt)
        }

        fileprivate func state(_ id: WebhookDelivery.ID) async throws -> DeliveryState? {
            try await store.delivery(id, of: tenant)?.state
        }

        fileprivate func disabling(_ endpoint: WebhookEndpoint) async throws -> WebhookEndpoint.DisablingReason? {
            try await store.endpoint(endpoint.id, of: tenant)?.disabling?.reason
        }
    }

    private struct NothingIsDue: Error {}

    package static let clauses: [Clause<Subject>] = claims + verdicts + endpoints

    // MARK: Claims

    private static let claims: [Clause<Subject>] = [
        Clause("what is due is claimed once, and is over when it was taken") { subject in
            let id = try await subject.add(to: subject.endpoint())[0]
            let claimed = try await subject.claim()
            let again = try await subject.claim()
            try await subject.settle(claimed[0], .delivered, status: 204)
            try await subject.letPass(.seconds(100))
            return compare("claimed", claimed.map(\.id), [id]) + compare("again", again.map(\.id), [])
                + compare("state", try await subject.state(id), .delivered)
                + compare("later", try await subject.claim().map(\.id), [])
                + compare("attempts", try await subject.store.delivery(id, of: subject.tenant)?.attempts.count, 1)
        },
        Clause("what is delivered without an attempt is listed for its endpoint, behind what was") { subject in
            let endpoint = try await subject.endpoint(isPolled: true)
            let other = try await subject.endpoint(isPolled: true)
            try await subject.add(3, to: endpoint)
            let ofOther = try await subject.add(to: other)
            func events(after: WebhookDelivery.ID? = nil) async throws -> [WebhookDelivery.ID]? {
                let page = DeliveryPage(limit: 10, after: after)
                return try await subject.store.events(of: .endpoint(endpoint.id), subject.tenant, page: page)?.map(\.id)
            }
            let claimed = try await subject.claim().filter { $0.endpoint == endpoint.id }
            let before = try await events()
            for delivery in [claimed[1], claimed[0]] { _ = try await subject.queue.settle(delivery, .delivered, nil) }
            let first = try await events()
            _ = try await subject.queue.settle(claimed[2], .delivered, nil)
            return compare("URL", claimed[0].receiver.map { $0.url == nil }, true) + compare("before", before, [])
                + compare("first", Set(first ?? []), [claimed[0].id, claimed[1].id])
                + compare("behind", try await events(after: first?.last), [claimed[2].id])
                + compare("of another", try await events(after: ofOther[0]), nil)
                + compare("state", try await subject.state(claimed[2].id), .delivered)
        },
        Clause("a claim lasts a minute, and a verdict of one that is over changes nothing") { subject in
            let id = try await subject.add(to: subject.endpoint())[0]
            let first = try await subject.claimOne()
            try await subject.letPass(.seconds(50))
            let early = try await subject.claim()
            try await subject.letPass(.seconds(11))
            let second = try await subject.claimOne()
            try await subject.settle(first, .delivered, status: 204)
            let state = try await subject.state(id)
            try await subject.settle(second, .abandoned, status: 500)
            return compare("early", early.map(\.id), [])
                + compare("attempts", [first.attempts, second.attempts], [0, 1])
                + compare("state", state, .pending) + compare("then", try await subject.state(id), .abandoned)
        },
        Clause("of one endpoint no more are claimed than it may have, and others have theirs") { subject in
            let (busy, quiet) = (try await subject.endpoint(), try await subject.endpoint())
            try await subject.add(9, to: busy)
            try await subject.add(1, to: quiet)
            let first = try await subject.claim(perEndpoint: 3)
            let second = try await subject.claim(perEndpoint: 3)
            try await subject.settle(first.first { $0.endpoint == busy.id } ?? first[0], .delivered, status: 204)
            let third = try await subject.claim(perEndpoint: 3, having: [busy.id: .init(count: 2, limit: 3)])
            return compare("busy", first.count { $0.endpoint == busy.id }, 3)
                + compare("quiet", first.count { $0.endpoint == quiet.id }, 1)
                + compare("second", second.count, 0) + compare("third", third.map(\.endpoint), [busy.id])
        },
        Clause("a node that alone has some of an endpoint has as many as it may") { subject in
            let endpoint = try await subject.endpoint()
            try await subject.add(12, to: endpoint)
            let first = try await subject.claim(perEndpoint: 4, having: [endpoint.id: .init(count: 0, limit: 7)])
            let other = try await subject.claim(perEndpoint: 4)
            for delivery in first[..<6] { try await subject.settle(delivery, .delivered, status: 204) }
            let shared = try await subject.claim(perEndpoint: 4)
            let left = try await subject.claim(perEndpoint: 4, having: [endpoint.id: .init(count: 1, limit: 7)])
            return compare("first", first.count, 7) + compare("other", other.count, 0)
                + compare("shared", shared.count, 3) + compare("left", left.count, 0)
        },
        Clause("what is given back is due at once, as if nobody had claimed it") { subject in
            let ids = try await subject.add(to: subject.endpoint())
            let first = try await subject.claim()
            try await subject.queue.release(first)
            let given = try await subject.store.delivery(ids[0], of: subject.tenant)
            let again = try await subject.claim()
            try await subject.settle(again[0], .again(after: .zero), status: 500)
            let failed = try await subject.claimOne()
            try await subject.queue.release([failed])
            // Whoever has lost a claim gives nothing back.
            try await subject.queue.release(first)
            let last = try await subject.store.delivery(ids[0], of: subject.tenant)
            return compare("state", given?.state, .pending) + compare("sent", given?.lastAttemptAt, nil)
                + compare("again", again.map(\.id), ids) + compare("attempts", again.map(\.attempts), [0])
                + compare("failed", failed.attempts, 1) + compare("last", last?.delivery.attempts, 1)
                + compare("status", last?.lastStatus, 500)
        },
        Clause("what is claimed has its endpoint, and the events that lists can be asked for") { subject in
            let endpoint = try await subject.endpoint()
            try await subject.add(to: endpoint)
            let claimed = try await subject.claimOne()
            return compare("endpoint", claimed.receiver?.id, endpoint.id)
                + compare("url", claimed.receiver?.url, endpoint.url)
                + compare("events", try await subject.queue.events(of: endpoint.id, subject.tenant), endpoint.events)
                + compare("none", try await subject.queue.events(of: .init(), subject.tenant), [])
        },
        Clause("no more are claimed than there are slots, and always one") { subject in
            for _ in 0..<4 { try await subject.add(4, to: subject.endpoint()) }
            return compare("one", try await subject.claim(1).count, 1)
                + compare("more", try await (1...5).contains(subject.claim(5).count), true)
        },
        Clause("the events of a job go one after the other, beside those of others") { subject in
            let endpoint = try await subject.endpoint()
            let (one, other) = (
                try await subject.add(2, to: endpoint, of: Job.ID()),
                try await subject.add(2, to: endpoint, of: Job.ID())
            )
            let first = try await subject.claim()
            for delivery in first { try await subject.settle(delivery, .delivered, status: 204) }
            return compare("first", first.map(\.id), [one[0], other[0]])
                + compare("second", try await subject.claim().map(\.id), [one[1], other[1]])
        },
    ]

    // MARK: Verdicts

    private static let verdicts: [Clause<Subject>] = [
        Clause("what was not taken is due again after its wait, and its failures are counted") { subject in
            let id = try await subject.add(to: subject.endpoint())[0]
            try await subject.settle(subject.claimOne(), .again(after: .seconds(300)), status: 500)
            let next = try await subject.queue.nextDelivery().map { $0 > .now.advanced(by: .seconds(200)) }
            try await subject.letPass(.seconds(290))
            let early = try await subject.claim()
            try await subject.letPass(.seconds(20))
            let again = try await subject.claimOne()
            return compare("next", next, true) + compare("early", early.map(\.id), [])
                + compare("again", [again.attempts, again.failures], [1, 1])
                + compare("state", try await subject.state(id), .pending)
        },
        Clause("a replay begins anew, and counts all attempts") { subject in
            let id = try await subject.add(to: subject.endpoint())[0]
            try await subject.settle(subject.claimOne(), .abandoned, status: 500)
            let over = try await subject.queue.nextDelivery()
            let isReplayed = try await subject.store.replay(id, of: subject.tenant)
            let again = try await subject.claimOne()
            return compare("over", over, nil) + compare("replayed", isReplayed, true)
                + compare("again", [again.attempts, again.failures], [1, 0])
        },
        Clause("what was given up is delivered all the same when it was taken meanwhile") { subject in
            let endpoint = try await subject.endpoint()
            let id = try await subject.add(to: endpoint)[0]
            let claimed = try await subject.claimOne()
            _ = try await subject.store.remove(endpoint.id, of: subject.tenant)
            let state = try await subject.state(id)
            try await subject.settle(claimed, .delivered, status: 204)
            return compare("state", state, .abandoned) + compare("then", try await subject.state(id), .delivered)
        },
    ]

    // MARK: Endpoints

    private static let endpoints: [Clause<Subject>] = [
        Clause("an endpoint that took nothing gets one at a time until it takes one") { subject in
            let endpoint = try await subject.endpoint()
            try await subject.add(6, to: endpoint)
            let first = try await subject.claim(1)
            try await subject.settle(first[0], .again(after: .seconds(900)), status: nil)
            let second = try await subject.claim()
            let third = try await subject.claim()
            try await subject.settle(second[0], .delivered, status: 204)
            return compare("second", second.map(\.endpointIsFailing), [true]) + compare("third", third.count, 0)
                + compare("then", try await subject.claim().count, 4)
        },
        Clause("an endpoint that wants no more is disabled, and others of its tenant are told") { subject in
            let endpoint = try await subject.endpoint()
            let ids = try await subject.add(2, to: endpoint)
            let claimed = try await subject.claim()
            let other = try await subject.endpoint()
            let isDisabled = try await subject.settle(claimed[0], .abandoned, status: 410)
            let again = try await subject.settle(claimed[1], .abandoned, status: 410)
            let late = try await subject.add(1, to: endpoint)
            let told = try await subject.claim()
            return compare("disabled", [isDisabled, again], [true, false])
                + compare("reason", try await subject.disabling(endpoint), .gone)
                + compare("told", told.map(\.endpoint), [other.id])
                + compare("event", told.map(\.event), [.endpointDisabled])
                + compare(
                    "states", [try await subject.state(ids[0]), try await subject.state(late[0])], [.abandoned, nil])
        },
        Clause("an endpoint that has taken nothing for five days is disabled with its next failure") { subject in
            let endpoint = try await subject.endpoint()
            try await subject.add(to: endpoint)
            let first = try await subject.settle(subject.claimOne(), .again(after: .seconds(5)), status: 500)
            try await subject.letPass(WebhookEndpoint.patience - .seconds(60))
            let second = try await subject.settle(subject.claimOne(), .again(after: .seconds(5)), status: 500)
            try await subject.letPass(.seconds(120))
            let third = try await subject.settle(subject.claimOne(), .again(after: .seconds(5)), status: nil)
            return compare("disabled", [first, second, third], [false, false, true])
                + compare("reason", try await subject.disabling(endpoint), .failing)
        },
        Clause("what is on its way to an endpoint is given up when that is disabled, and not before") { subject in
            let endpoint = try await subject.endpoint()
            let ids = try await subject.add(2, to: endpoint)
            let claimed = try await subject.claim()
            try await subject.queue.abandonDeliveries(to: endpoint.id, of: subject.tenant)
            let early = try await subject.state(ids[1])
            try await subject.settle(claimed[0], .abandoned, status: 410)
            try await subject.queue.abandonDeliveries(to: endpoint.id, of: subject.tenant)
            return compare("early", early, .pending) + compare("then", try await subject.state(ids[1]), .abandoned)
        },
    ]
}
