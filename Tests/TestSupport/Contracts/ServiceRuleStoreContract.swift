package import FetchJobs

/// What every form of ``ServiceRuleStore`` does.
package enum ServiceRuleStoreContract {
    private static func rules(_ names: String...) -> [Rule] {
        names.map { Rule(name: $0, on: .willPerformHTTPRedirection, when: [.downgrade(true)], .cancel) }
    }

    package static let clauses: [Clause<any ServiceRuleStore>] = [
        Clause("at first there are none") { store in
            compare("rules", try await store.serviceRules().rules, [])
        },
        Clause("rules are found as they were given, in their order") { store in
            let stored = try await store.replaceServiceRules(nil, with: rules("b", "a"))
            let found = try await store.serviceRules()
            return compare("stored", stored?.rules, rules("b", "a")) + compare("found", found.rules, rules("b", "a"))
                + compare("version", found.version, stored?.version)
        },
        Clause("who names a version replaces that one alone") { store in
            let first = try await store.serviceRules().version
            let second = try await store.replaceServiceRules(first, with: rules("a"))
            let late = try await store.replaceServiceRules(first, with: rules("b"))
            let found = try await store.serviceRules()
            return compare("late", late == nil, true) + compare("found", found.rules, rules("a"))
                + compare("raised", second.map { $0.version > first }, true)
                + compare("version", found.version, second?.version)
        },
        Clause("an empty list leaves none") { store in
            _ = try await store.replaceServiceRules(nil, with: rules("a"))
            _ = try await store.replaceServiceRules(nil, with: [])
            return compare("rules", try await store.serviceRules().rules, [])
        },
    ]
}
