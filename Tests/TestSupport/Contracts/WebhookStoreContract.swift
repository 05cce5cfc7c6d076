import FetchEngine
package import FetchJobs

/// The contract of every form of ``WebhookStore``.
package enum WebhookStoreContract {
    package struct Subject: Sendable {
        let store: any WebhookStore
        /// Puts a delivery there that is about a job, or about a session, and is in a state.
        let put: @Sendable (WebhookDelivery, DeliveryState) async throws -> Void

        package init(
            store: any WebhookStore, put: @escaping @Sendable (WebhookDelivery, DeliveryState) async throws -> Void
        ) {
            self.store = store
            self.put = put
        }

        fileprivate let tenant = Tenant.ID(rawValue: 1)
        fileprivate let other = Tenant.ID(rawValue: 2)

        /// - Parameter url: Nil for one that is polled.
        fileprivate func make(
            _ url: String? = "https://receiver.example/hook", isDefault: Bool = false
        ) throws -> WebhookEndpoint {
            var endpoint = WebhookEndpoint(
                tenant: tenant, url: try url.map { try URLRecord($0) }, events: WebhookEvent.allCases)
            endpoint.isDefault = isDefault
            return endpoint
        }

        fileprivate func add(isDefault: Bool = false) async throws -> WebhookEndpoint {
            try await add(try make(isDefault: isDefault))
        }

        fileprivate func add(_ endpoint: WebhookEndpoint) async throws -> WebhookEndpoint {
            try await store.add(endpoint)
            return endpoint
        }

        fileprivate func endpoints(
            after last: WebhookEndpoint.ID? = nil, limit: Int = 9
        ) async throws -> [WebhookEndpoint] {
            try await store.endpoints(of: tenant, after: last, limit: limit)
        }

        fileprivate func find(_ search: EndpointSearch) async throws -> WebhookEndpoint.ID? {
            try await store.endpointID(search, of: tenant)
        }

        @discardableResult
        fileprivate func put(
            to endpoint: WebhookEndpoint, _ state: DeliveryState = .pending, of session: TenantSession.ID? = nil,
            event: WebhookEvent = .jobFinished
        ) async throws -> WebhookDelivery {
            let delivery = WebhookDelivery(
                id: .init(), tenant: tenant, endpoint: endpoint.id,
                subject: session.map { .session($0) } ?? .job(Job.ID()), event: event, createdAt: .now, attempts: 0,
                failures: 0)
            try await put(delivery, state)
            return delivery
        }

        fileprivate func endpoint(_ id: WebhookEndpoint.ID) async throws -> WebhookEndpoint? {
            try await store.endpoint(id, of: tenant)
        }

        fileprivate func list(
            after: WebhookDelivery.ID? = nil, limit: Int = 9, _ change: (inout DeliveryFilter) -> Void = { _ in }
        ) async throws -> [WebhookDelivery.ID] {
            var filter = DeliveryFilter()
            change(&filter)
            let page = DeliveryPage(limit: limit, after: after)
            return try await store.deliveries(of: tenant, matching: filter, page: page).map(\.delivery.id)
        }

        fileprivate func state(_ id: WebhookDelivery.ID) async throws -> DeliveryState? {
            try await store.delivery(id, of: tenant)?.state
        }
    }

    package static let clauses: [Clause<Subject>] = endpoints + deliveries + replays

    // MARK: Endpoints

    private static let endpoints: [Clause<Subject>] = [
        Clause("an endpoint is kept with its secret, and is its tenant's alone") { subject in
            let endpoint = try await subject.add()
            let found = try await subject.endpoint(endpoint.id)
            return compare("secret", found?.secret, endpoint.secret) + compare("URL", found?.url, endpoint.url)
                + compare("events", found?.events, endpoint.events)
                + compare("another's", try await subject.store.endpoint(endpoint.id, of: subject.other) == nil, true)
                + compare("list", try await subject.store.endpoints(of: subject.other, after: nil, limit: 9).count, 0)
        },
        Clause("endpoints are listed page by page, the oldest first") { subject in
            var ids: [WebhookEndpoint.ID] = []
            for _ in 0..<3 { ids.append(try await subject.add().id) }
            return compare("first", try await subject.endpoints(limit: 2).map(\.id), [ids[0], ids[1]])
                + compare("rest", try await subject.endpoints(after: ids[1], limit: 2).map(\.id), [ids[2]])
                + compare("end", try await subject.endpoints(after: ids[2]).map(\.id), [])
        },
        Clause("the oldest endpoint with an address is found while it is enabled") { subject in
            let address = "https://receiver.example/hook?a=1"
            let endpoints = [
                try await subject.add(), try await subject.add(try subject.make(address)),
                try await subject.add(try subject.make(address)),
            ]
            let search = EndpointSearch.url(try URLRecord(address))
            let foreign = try await subject.store.endpointID(search, of: subject.other)
            let first = try await subject.find(search)
            var disabled = endpoints[1]
            disabled.disabling = .init(at: .now, reason: .requested)
            _ = try await subject.store.update(disabled, rotation: nil)
            let second = try await subject.find(search)
            _ = try await subject.store.remove(endpoints[2].id, of: subject.tenant)
            return compare("first", first, endpoints[1].id) + compare("another's", foreign, nil)
                + compare("second", second, endpoints[2].id) + compare("none", try await subject.find(search), nil)
        },
        Clause("an endpoint is found by half of its id and a time, and the default one when it is polled") { subject in
            let endpoint = try await subject.add(isDefault: true)
            let (half, time) = (endpoint.id.uuid.low, endpoint.createdAt)
            let ids = [
                try await subject.find(.lowerHalf(half, since: time.advanced(by: .seconds(-1)))),
                try await subject.find(.lowerHalf(half, since: time.advanced(by: .seconds(1)))),
                try await subject.find(.lowerHalf(half ^ 1, since: time.advanced(by: .seconds(-1)))),
            ]
            let none = try await subject.find(.polledDefault)
            let polled = try await subject.add(try subject.make(nil, isDefault: true))
            return compare("halves", ids, [endpoint.id, nil, nil]) + compare("not polled", none, nil)
                + compare("polled", try await subject.find(.polledDefault), polled.id)
        },
        Clause("a tenant has so many endpoints at most, and one that is refused changes nothing") { subject in
            let first = try await subject.add(isDefault: true)
            for _ in 1..<WebhookEndpoint.maximumCount { _ = try await subject.add() }
            let late = try subject.make(isDefault: true)
            let rooms = [
                try await subject.store.hasRoom(of: subject.tenant), try await subject.store.hasRoom(of: subject.other),
            ]
            let isAdded = try await subject.store.add(late)
            let found = try await subject.endpoint(late.id)
            let isDefault = try await subject.endpoint(first.id)?.isDefault
            _ = try await subject.store.remove(first.id, of: subject.tenant)
            let isLeft = try await subject.store.hasRoom(of: subject.tenant)
            return compare("rooms", rooms, [false, true]) + compare("added", isAdded, false)
                + compare("found", found?.id, nil) + compare("default", isDefault, true)
                + compare("left", isLeft, true) + compare("then", try await subject.store.add(late), true)
        },
        Clause("an endpoint is changed from what was read, and not over another's change") { subject in
            let endpoint = try await subject.add()
            var changed = SecretRotation().applied(to: endpoint, at: .now)
            changed.events = [.jobFinished]
            let now = try await subject.store.update(changed, rotation: "key 1")
            let late = try await subject.store.update(changed, rotation: nil)
            let found = try await subject.endpoint(endpoint.id)
            return compare("version", [now?.version, found?.version], [2, 2]) + compare("late", late == nil, true)
                + compare("events", found?.events, [.jobFinished]) + compare("rotation", found?.rotation, "key 1")
                + compare("secrets", found?.secrets(at: .now), [changed.secret, endpoint.secret])
        },
        Clause("of a tenant one endpoint is the default one, the last that was made so") { subject in
            let endpoints = [
                try await subject.add(isDefault: true), try await subject.add(), try await subject.add(isDefault: true),
            ]
            func defaults() async throws -> [WebhookEndpoint.ID] {
                try await subject.endpoints().filter(\.isDefault).map(\.id)
            }
            let added = try await defaults()
            // Read before the other one took its place.
            let late = try await subject.store.update(endpoints[0], rotation: nil)
            var changed = endpoints[1]
            changed.isDefault = true
            let now = try await subject.store.update(changed, rotation: nil)
            return compare("added", added, [endpoints[2].id]) + compare("late", late == nil, true)
                + compare("changed", now?.isDefault, true) + compare("now", try await defaults(), [endpoints[1].id])
        },
        Clause("what is on its way to an endpoint that is disabled or removed is given up") { subject in
            let endpoints = [try await subject.add(), try await subject.add(), try await subject.add()]
            var ids: [WebhookDelivery.ID] = []
            for endpoint in endpoints { ids.append(try await subject.put(to: endpoint).id) }
            let done = try await subject.put(to: endpoints[0], .delivered).id
            var disabled = endpoints[0]
            disabled.disabling = .init(at: .now, reason: .requested)
            let reason = try await subject.store.update(disabled, rotation: nil)?.disabling?.reason
            let removed = [
                try await subject.store.remove(endpoints[1].id, of: subject.other),
                try await subject.store.remove(endpoints[1].id, of: subject.tenant),
                try await subject.store.remove(endpoints[1].id, of: subject.tenant),
            ]
            var states: [DeliveryState?] = []
            for id in ids + [done] { states.append(try await subject.state(id)) }
            return compare("reason", reason, .requested) + compare("removed", removed, [false, true, false])
                + compare("states", states, [.abandoned, .abandoned, .pending, .delivered])
        },
    ]

    // MARK: Deliveries

    private static let deliveries: [Clause<Subject>] = [
        Clause("deliveries are listed page by page, the newest first") { subject in
            let endpoint = try await subject.add()
            var ids: [WebhookDelivery.ID] = []
            for _ in 0..<3 { ids.append(try await subject.put(to: endpoint).id) }
            let first = try await subject.list(limit: 2)
            let others = try await subject.store.deliveries(
                of: subject.other, matching: DeliveryFilter(), page: DeliveryPage(limit: 9))
            return compare("first", first, [ids[2], ids[1]])
                + compare("rest", try await subject.list(after: first.last), [ids[0]])
                + compare("another's", others.count, 0)
                + compare("another's", try await subject.store.delivery(ids[0], of: subject.other) == nil, true)
        },
        Clause("a list can be of an endpoint, a state, an event, a job or a time") { subject in
            let (one, other) = (try await subject.add(), try await subject.add())
            let first = try await subject.put(to: one, .delivered)
            let second = try await subject.put(to: one, event: .jobRedirected)
            let third = try await subject.put(to: other)
            return compare("endpoint", try await subject.list { $0.endpoint = one.id }, [second.id, first.id])
                + compare("state", try await subject.list { $0.state = .delivered }, [first.id])
                + compare("event", try await subject.list { $0.event = .jobRedirected }, [second.id])
                + compare("job", try await subject.list { $0.job = third.job }, [third.id])
                + compare("both", try await subject.list { ($0.endpoint, $0.state) = (other.id, .delivered) }, [])
                + compare("time", try await subject.list { $0.since = .now.advanced(by: .seconds(60)) }, [])
        },
        Clause("the events of a session are listed in their order, and go on behind one of them alone") { subject in
            let (endpoint, session) = (try await subject.add(), TenantSession.ID())
            var ids: [WebhookDelivery.ID] = []
            for _ in 0..<3 { ids.append(try await subject.put(to: endpoint, of: session).id) }
            let stranger = try await subject.put(to: endpoint)
            let list = { (after: WebhookDelivery.ID?) in
                let page = DeliveryPage(limit: 2, after: after)
                return try await subject.store.events(of: .session(session), subject.tenant, page: page)?.map(\.id)
            }
            return compare("first", try await list(nil), [ids[0], ids[1]])
                + compare("rest", try await list(ids[1]), [ids[2]]) + compare("end", try await list(ids[2]), [])
                + compare("unknown", try await list(stranger.id), nil)
        },
    ]

    // MARK: Replays

    private static let replays: [Clause<Subject>] = [
        Clause("a test is a delivery about the endpoint that it is sent to, while that gets messages") { subject in
            var endpoint = try await subject.add()
            let foreign = try await subject.store.test(endpoint.id, of: subject.other)
            let unknown = try await subject.store.test(.init(), of: subject.tenant)
            let id = try await subject.store.test(endpoint.id, of: subject.tenant)
            var test: StoredDelivery?
            if let id { test = try await subject.store.delivery(id, of: subject.tenant) }
            endpoint.disabling = .init(at: .now, reason: .requested)
            _ = try await subject.store.update(endpoint, rotation: nil)
            let late = try await subject.store.test(endpoint.id, of: subject.tenant)
            return compare("others", [foreign, unknown, late], [nil, nil, nil])
                + compare("event", test?.delivery.event, .endpointTest)
                + compare("subject", test?.delivery.subject, .endpoint(endpoint.id))
                + compare("endpoint", test?.delivery.endpoint, endpoint.id)
                + compare("state", test?.state, .pending)
                + compare("list", try await subject.list { $0.event = .endpointTest }, id.map { [$0] } ?? [])
        },
        Clause("a delivery is sent again, whatever became of it, under its id") { subject in
            let endpoint = try await subject.add()
            let id = try await subject.put(to: endpoint, .delivered).id
            let foreign = try await subject.store.replay(id, of: subject.other)
            let isReplayed = try await subject.store.replay(id, of: subject.tenant)
            let unknown = try await subject.store.replay(.init(), of: subject.tenant)
            return compare("replayed", [foreign, isReplayed, unknown], [false, true, false])
                + compare("state", try await subject.state(id), .pending)
        },
        Clause("what an endpoint was not brought is sent again, if it was made since a time") { subject in
            let (one, other) = (try await subject.add(), try await subject.add())
            let given = [try await subject.put(to: one, .abandoned).id, try await subject.put(to: one, .abandoned).id]
            let done = try await subject.put(to: one, .delivered).id
            let elsewhere = try await subject.put(to: other, .abandoned).id
            let (past, future) = (Timestamp.now.advanced(by: .seconds(-60)), Timestamp.now.advanced(by: .seconds(60)))
            let late = try await subject.store.replayFailed(of: one.id, subject.tenant, since: future)
            let count = try await subject.store.replayFailed(of: one.id, subject.tenant, since: past)
            var states: [DeliveryState?] = []
            for id in given + [done, elsewhere] { states.append(try await subject.state(id)) }
            return compare("late", late, 0) + compare("count", count, 2)
                + compare("states", states, [.pending, .pending, .delivered, .abandoned])
        },
        Clause("nothing is sent again to an endpoint that gets no messages") { subject in
            let endpoint = try await subject.add()
            let id = try await subject.put(to: endpoint, .abandoned).id
            var disabled = endpoint
            disabled.disabling = .init(at: .now, reason: .requested)
            _ = try await subject.store.update(disabled, rotation: nil)
            let past = Timestamp.now.advanced(by: .seconds(-60))
            return compare("one", try await subject.store.replay(id, of: subject.tenant), false)
                + compare("all", try await subject.store.replayFailed(of: endpoint.id, subject.tenant, since: past), 0)
                + compare("state", try await subject.state(id), .abandoned)
        },
    ]
}

extension WebhookDelivery {
    fileprivate var job: Job.ID? { if case .job(let id) = subject { id } else { nil } }
}
