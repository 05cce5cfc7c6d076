import FetchEngine
package import FetchJobs

/// The contract of every form of ``CookieCatalog``.
package enum CookieCatalogContract {
    private static let session = SessionAddress(tenant: Tenant.ID(rawValue: 1))
    private static let others = [
        SessionAddress(tenant: Tenant.ID(rawValue: 1), session: TenantSession.ID()),
        SessionAddress(tenant: Tenant.ID(rawValue: 2)),
    ]

    private static func cookie(_ name: String, _ value: String = "1", path: String = "/") throws -> Cookie {
        try Cookie(name: name, value: value, domain: "h.example", path: path)
    }

    private static func list(_ store: any CookieCatalog) async throws -> [String] {
        try await store.cookies(of: session).map { "\($0.name)=\($0.value)" }
    }

    package static let clauses: [Clause<any CookieCatalog>] = [
        Clause("cookies are listed in the order they were first set") { store in
            for name in ["b", "a", "c"] { try await store.set([cookie(name)], in: session) }
            try await store.set([cookie("b", "2")], in: session)
            return compare("cookies", try await list(store), ["b=2", "a=1", "c=1"])
        },
        Clause("one of the same name, domain and path takes another's place, and no other does") { store in
            try await store.set([cookie("a"), cookie("a", "2", path: "/x"), cookie("a", "3")], in: session)
            return compare("cookies", try await Set(list(store)), ["a=3", "a=2"])
        },
        Clause("one that has expired is not there") { store in
            try await store.set([cookie("a"), cookie("b")], in: session)
            let past = UnixTime.now.advanced(by: .seconds(-60))
            try await store.set([Cookie(name: "a", value: "1", domain: "h.example", expires: past)], in: session)
            return compare("cookies", try await list(store), ["b=1"])
        },
        Clause("what is removed is gone, whether it was there or not") { store in
            try await store.set([cookie("a"), cookie("b")], in: session)
            try await store.remove([cookie("a"), cookie("c")], from: session)
            return compare("cookies", try await list(store), ["b=1"])
        },
        Clause("sessions and tenants share nothing") { store in
            try await store.set([cookie("a")], in: session)
            var found: [String] = []
            for other in others { found += try await store.cookies(of: other).map(\.name) }
            try await store.remove([cookie("a")], from: others[0])
            return compare("others", found, []) + compare("own", try await list(store), ["a=1"])
        },
    ]
}
