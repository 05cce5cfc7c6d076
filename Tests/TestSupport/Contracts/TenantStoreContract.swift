package import FetchJobs

/// The contract of every form of ``TenantStore``, where there are the tenants of ``names``.
package enum TenantStoreContract {
    package static let names = ["default", "crawler", "a/b"]

    package static let clauses: [Clause<any TenantStore>] = [
        Clause("tenants are listed page by page, the oldest first") { store in
            let first = try await store.tenants(after: nil, limit: 2)
            let rest = try await store.tenants(after: first.last?.tenant.id, limit: 2)
            return compare("first", first.map(\.tenant.name), ["default", "crawler"])
                + compare("rest", rest.map(\.tenant.name), ["a/b"])
        },
        Clause("a tenant is found by its name, with nothing set but its weight") { store in
            let found = try await store.tenant(named: "a/b")
            return compare("weight", found?.weight, 1) + compare("quota", found?.maximumWaitingJobs, nil)
                + compare("bandwidth", found?.maximumBytesPerSecond, nil) + compare("paused", found?.isPaused, false)
                + compare("unknown", try await store.tenant(named: "nobody") == nil, true)
        },
        Clause("what is changed of a share is changed, and the rest stays") { store in
            let first = try await store.change(
                TenantChange(weight: 5, maximumWaitingJobs: .own(100)), ofTenant: "crawler")
            let second = try await store.change(TenantChange(weight: 7), ofTenant: "crawler")
            let found = try await store.tenant(named: "crawler")
            return compare("first", first?.weight, 5) + compare("second", second?.weight, 7)
                + compare("quota", found?.maximumWaitingJobs, 100)
                + compare("other", try await store.tenant(named: "default")?.weight, 1)
                + compare("unknown", try await store.change(TenantChange(weight: 2), ofTenant: "nobody") == nil, true)
        },
        Clause("a limit is taken back") { store in
            var change = TenantChange(maximumWaitingJobs: .own(100))
            change.maximumBytesPerSecond = .own(2048)
            let limited = try await store.change(change, ofTenant: "crawler")
            change.maximumWaitingJobs = .standard
            change.maximumBytesPerSecond = .standard
            let free = try await store.change(change, ofTenant: "crawler")
            return compare("limited", [limited?.maximumWaitingJobs, limited?.maximumBytesPerSecond], [100, 2048])
                + compare("free", [free?.maximumWaitingJobs, free?.maximumBytesPerSecond], [nil, nil])
        },
    ]
}
