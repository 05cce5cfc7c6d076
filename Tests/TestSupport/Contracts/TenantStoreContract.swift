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
            return compare("weight", found?.weight, 1) + compare("limits", found?.limits, [:])
                + compare("paused", found?.isPaused, false)
                + compare("unknown", try await store.tenant(named: "nobody") == nil, true)
        },
        Clause("what is changed of a share is changed, and the rest stays") { store in
            let first = try await store.change(
                TenantChange(weight: 5, limits: [.maximumWaitingJobs: .own(100)]), ofTenant: "crawler")
            let second = try await store.change(TenantChange(weight: 7), ofTenant: "crawler")
            let found = try await store.tenant(named: "crawler")
            return compare("first", first?.weight, 5) + compare("second", second?.weight, 7)
                + compare("limits", found?.limits, [.maximumWaitingJobs: 100])
                + compare("other", try await store.tenant(named: "default")?.weight, 1)
                + compare("unknown", try await store.change(TenantChange(weight: 2), ofTenant: "nobody") == nil, true)
        },
        Clause("every limit is set, is among those of tenants' own, and is taken back") { store in
            let values = Dictionary(
                uniqueKeysWithValues: TenantLimit.allCases.enumerated().map { ($1, 2048 + Int64($0)) })
            let limited = try await store.change(
                TenantChange(limits: values.mapValues { .own($0) }), ofTenant: "crawler")
            let own = try await store.ownLimits()
            let free = try await store.change(
                TenantChange(limits: values.mapValues { _ in .standard }), ofTenant: "crawler")
            return compare("limited", limited?.limits, values) + compare("own", Array(own.values), [values])
                + compare("free", free?.limits, [:]) + compare("none", try await store.ownLimits().isEmpty, true)
        },
        Clause("a tenant that has nothing uses nothing, and its day ends later than now") { store in
            guard let tenant = try await store.tenant(named: "a/b")?.tenant.id else { return ["no tenant"] }
            let usage = try await store.usage(of: tenant)
            return compare("usage", usage, TenantUsage(dayEnd: usage.dayEnd))
        },
    ]
}
