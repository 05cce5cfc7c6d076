package import FetchJobs

/// The contract of every form of ``LimiterStore`` about the limits that it keeps; that of ``WorkQueue`` is elsewhere.
package enum LimiterStoreContract {
    package struct Subject: Sendable {
        let jobs: JobsSubject
        let store: any LimiterStore

        package init(jobs: JobsSubject, store: any LimiterStore) {
            self.jobs = jobs
            self.store = store
        }

        fileprivate func host(_ key: String = "origin.example") -> Limiter.Address {
            Limiter.Address(tenant: jobs.tenant, kind: .host, key: key)
        }

        fileprivate func flow(_ key: String = "f") -> Limiter.Address {
            Limiter.Address(tenant: jobs.tenant, kind: .flow, key: key)
        }

        fileprivate func list(after key: String = "", limit: Int = 9, kind: Limiter.Kind = .host) async throws
            -> [String]
        {
            try await store.limiters(of: jobs.tenant, kind, after: key, limit: limit).map(\.address.key)
        }
    }

    private static func limits(_ text: String, of kind: Limiter.Kind = .host) throws -> SharedLimits {
        try SharedLimits(json: try JSONParser.parse(text.utf8), of: kind)
    }

    package static let clauses: [Clause<Subject>] = [
        Clause("limits are kept as they were set, all of them, and are their tenant's alone") { subject in
            let (store, host) = (subject.store, subject.host())
            let none = try await store.limiter(host)
            try await store.set(limits(#"{"parallelism": 3, "rate": {"jobs": 2, "period": 60}}"#), of: host)
            let first = try await store.limiter(host)
            let changed = try limits(#"{"maximumBytesPerSecond": 2048}"#)
            try await store.set(changed, of: host)
            let other = Limiter.Address(tenant: subject.jobs.other, kind: .host, key: host.key)
            return compare("none", none == nil, true) + compare("parallelism", first?.limits.parallelism, 3)
                + compare("rate", first?.limits.rate, SharedLimits.Rate(jobs: 2, period: .seconds(60)))
                + compare("then", try await store.limiter(host)?.limits, changed)
                + compare("another's", try await store.limiter(other) == nil, true)
        },
        Clause("what is pinned stays where a change is to keep it, and no longer than that") { subject in
            let (store, flow) = (subject.store, subject.flow())
            try await store.set(limits(#"{"order": "fifo", "pinned": ["parallelism"]}"#, of: .flow), of: flow)
            let brought = try limits(#"{"parallelism": 3, "rate": {"jobs": 2, "period": 60}}"#, of: .flow)
            try await store.set(brought, of: flow, keepsPinned: true)
            let kept = try await store.limiter(flow)?.limits
            try await store.set(brought, of: flow, keepsPinned: false)
            let changed = try await store.limiter(flow)?.limits
            let pinned = try limits(#"{"rate": {"jobs": 5, "period": 1}, "pinned": ["rate"]}"#, of: .flow)
            try await store.set(pinned, of: flow)
            try await store.set(brought, of: flow, keepsPinned: true)
            let both = try await store.limiter(flow)?.limits
            return compare("order", kept?.order, .fifo) + compare("no parallelism", kept?.parallelism, nil)
                + compare("rate", kept?.rate, brought.rate) + compare("pinned", kept?.pinned, [.parallelism])
                + compare("changed", changed, brought) + compare("its rate", both?.rate, pinned.rate)
                + compare("parallelism", both?.parallelism, 3) + compare("rate pinned", both?.pinned, [.rate])
        },
        Clause("the limiters of a kind are listed by their keys, page by page") { subject in
            try await subject.store.set(limits(#"{"order": "fifo"}"#, of: .flow), of: subject.flow())
            for key in ["b.example", "c.example", "a.example"] {
                try await subject.store.setPaused(true, subject.host(key))
            }
            return compare("first", try await subject.list(limit: 2), ["a.example", "b.example"])
                + compare("rest", try await subject.list(after: "b.example", limit: 2), ["c.example"])
                + compare("flows", try await subject.list(kind: .flow), ["f"])
        },
        Clause("a limiter is paused and resumed, and its limits stay") { subject in
            let (store, host) = (subject.store, subject.host())
            try await store.set(limits(#"{"parallelism": 3}"#), of: host)
            try await store.setPaused(true, host)
            let paused = try await store.limiter(host)
            try await store.setPaused(false, host)
            return compare("paused", paused?.isPaused, true) + compare("limits", paused?.limits.parallelism, 3)
                + compare("resumed", try await store.limiter(host)?.isPaused, false)
        },
        Clause("what is removed is as though it had never been set") { subject in
            let (store, host) = (subject.store, subject.host())
            try await store.set(limits(#"{"parallelism": 3}"#), of: host)
            try await store.setPaused(true, host)
            let removed = [try await store.remove(host), try await store.remove(host)]
            let (none, list) = (try await store.limiter(host), try await subject.list())
            try await store.set(limits(#"{"maximumBytesPerSecond": 2048}"#), of: host)
            let again = try await store.limiter(host)
            return compare("removed", removed, [true, false]) + compare("none", none == nil, true)
                + compare("list", list, []) + compare("paused", again?.isPaused, false)
                + compare("parallelism", again?.limits.parallelism, nil)
        },
        Clause("to skip where nothing holds up a flow changes nothing") { subject in
            let flow = Limiter.Address(tenant: subject.jobs.tenant, kind: .flow, key: "f")
            try await subject.store.skip(flow)
            return compare("limiter", try await subject.store.limiter(flow) == nil, true)
        },
        Clause("the queue of a tenant is paused and resumed, and says how many jobs run and wait") { subject in
            let (store, tenant) = (subject.store, subject.jobs.tenant)
            try await subject.jobs.enqueue("", "", #", "runAt": "2999-01-01T00:00:00Z""#)
            _ = try await subject.jobs.claim(limit: 1)
            let before = try await store.queue(of: tenant)
            try await store.setPaused(true, of: tenant)
            let paused = try await store.queue(of: tenant).isPaused
            try await store.setPaused(false, of: tenant)
            return compare("before", before.isPaused, false) + compare("runs", before.running, 1)
                + compare("wait", before.waiting, 2) + compare("paused", paused, true)
                + compare("resumed", try await store.queue(of: tenant).isPaused, false)
                + compare("another's", try await store.queue(of: subject.jobs.other).running, 0)
        },
    ]
}
