import FetchEngine
package import FetchJobs

/// What every form of ``EgressStore`` does.
package enum EgressStoreContract {
    private static let tenant = Tenant.ID(rawValue: 7)

    private static func rules(_ host: String) -> TargetRules {
        TargetRules(deny: [TargetRule(name: host, hosts: [host].compactMap { TargetRule.host($0) })])
    }

    package static let clauses: [Clause<any EgressStore>] = [
        Clause("at first there is no document") { store in
            let first = try await store.egress(of: .service)
            return compare("rules", first.rules, nil) + compare("version", first.version, 0)
                + compare("all", try await store.egress(besides: [:]).isEmpty, true)
        },
        Clause("each owner has a document of its own") { store in
            let service = try await store.replaceEgress(of: .service, named: nil, nil, with: rules("a.example"))
            let own = try await store.replaceEgress(of: tenant, named: "t", nil, with: rules("b.example"))
            return compare("service", service?.rules, rules("a.example"))
                + compare("own", own?.rules, rules("b.example"))
                + compare("found", try await store.egress(of: .service).rules, rules("a.example"))
                + compare("of the tenant", try await store.egress(of: tenant).rules, rules("b.example"))
        },
        Clause("who names a version replaces that one alone") { store in
            let first = try await store.replaceEgress(of: tenant, named: "t", nil, with: rules("a.example"))
            let second = try await store.replaceEgress(
                of: tenant, named: "t", first?.version, with: rules("b.example"))
            let late = try await store.replaceEgress(of: tenant, named: "t", first?.version, with: rules("c.example"))
            let found = try await store.egress(of: tenant)
            return compare("late", late == nil, true) + compare("found", found.rules, rules("b.example"))
                + compare("raised", (second?.version ?? 0) > (first?.version ?? 0), true)
        },
        Clause("only those are read whose versions are not known, and those taken away") { store in
            let first = try await store.replaceEgress(of: .service, named: nil, nil, with: rules("a.example"))
            let own = try await store.replaceEgress(of: tenant, named: "t", nil, with: rules("b.example"))
            let versions = [Tenant.ID.service: first?.version ?? 0, tenant: own?.version ?? 0]
            let none = try await store.egress(besides: versions)
            let removed = try await store.replaceEgress(of: tenant, named: "t", nil, with: nil)
            let changed = try await store.egress(besides: versions)
            return compare("none", none.isEmpty, true) + compare("changed", Array(changed.keys), [tenant])
                + compare("rules", changed[tenant]?.rules, nil)
                + compare("version", changed[tenant]?.version, removed?.version)
        },
    ]
}
