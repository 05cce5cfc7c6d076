package import FetchJobs

/// The contract of every form of ``CredentialCatalog``.
package enum CredentialCatalogContract {
    private static let tenant = Tenant.ID(rawValue: 1)
    private static let other = Tenant.ID(rawValue: 2)
    private static let session = SessionAddress(tenant: tenant, session: TenantSession.ID())
    private static let sibling = SessionAddress(tenant: tenant, session: TenantSession.ID())

    private static func add(
        _ user: String, to store: any CredentialCatalog, in session: SessionAddress? = nil, host: String = "h.example",
        isDefault: Bool = true
    ) async throws -> StoredCredential {
        let place = session.map { #""session": "\#($0.session)", "persistence": "forSession","# } ?? ""
        let space = #"{"host": "\#(host)", "protocol": "https", "port": 443, "authenticationMethod": "httpBasic"}"#
        let text = """
            {\(place) "user": "\(user)", "password": "p", "isDefault": \(isDefault), "protectionSpace": \(space)}
            """
        return try await store.add(CredentialSubmission(json: JSONParser.parse(text.utf8)), to: tenant)
    }

    private static func users(_ store: any CredentialCatalog, of session: SessionAddress = session) async throws
        -> [String]
    {
        try await store.credentials(of: session).map { $0.user + ($0.isDefault ? "!" : "") }
    }

    package static let clauses: [Clause<any CredentialCatalog>] = [
        Clause("a session has its own credentials and, behind them, those that are kept for all") { store in
            _ = try await add("kept", to: store)
            _ = try await add("own", to: store, in: session)
            let foreign = SessionAddress(tenant: other)
            return compare("own", try await users(store), ["own!", "kept!"])
                + compare("sibling", try await users(store, of: sibling), ["kept!"])
                + compare("another's", try await users(store, of: foreign), [])
        },
        Clause("the first of a space is its default, until another one is to be") { store in
            let users = { @Sendable in try await Self.users(store) }
            _ = try await add("a", to: store, in: session, isDefault: false)
            _ = try await add("b", to: store, in: session, isDefault: false)
            let first = try await users()
            _ = try await add("b", to: store, in: session)
            _ = try await add("c", to: store, in: session, host: "other.example", isDefault: false)
            return compare("first", first, ["a!", "b"]) + compare("then", try await users(), ["a", "b!", "c!"])
        },
        Clause("a credential takes the place of one of the same user for the same space, under its id") { store in
            let first = try await add("a", to: store, in: session)
            let again = try await add("a", to: store, in: session)
            let elsewhere = try await add("a", to: store, in: session, host: "other.example")
            let ids = try await store.credentials(of: session).map(\.id)
            return compare("id", again.id, first.id) + compare("all", ids, [first.id, elsewhere.id])
        },
        Clause("a credential is found and removed by its tenant alone, once") { store in
            let id = try await add("a", to: store).id
            let found = [
                try await store.credential(id, of: tenant)?.user, try await store.credential(id, of: other)?.user,
            ]
            let removed = [
                try await store.remove(id, of: other), try await store.remove(id, of: tenant),
                try await store.remove(id, of: tenant),
            ]
            return compare("found", found, ["a", nil]) + compare("removed", removed, [false, true, false])
                + compare("then", try await users(store), [])
        },
        Clause("all credentials of a session are removed, and none of those that are kept for all") { store in
            _ = try await add("kept", to: store)
            for user in ["a", "b"] { _ = try await add(user, to: store, in: session) }
            return compare("removed", try await store.removeCredentials(of: session), 2)
                + compare("again", try await store.removeCredentials(of: session), 0)
                + compare("left", try await users(store), ["kept!"])
        },
        Clause("nothing is used that no job was given") { store in
            _ = try await add("a", to: store)
            let uses = try await store.uses(of: nil, tenant: tenant, after: nil, limit: 9)
            return compare("uses", uses.count, 0)
        },
    ]
}
