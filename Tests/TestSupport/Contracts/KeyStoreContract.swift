package import FetchJobs

/// The contract of every form of ``KeyStore``.
package enum KeyStoreContract {
    package static let clauses: [Clause<any KeyStore>] = [
        Clause("a token proves its key until that is revoked, which happens once") { store in
            let none = try await store.hasKeys()
            let (key, token) = try await store.create(name: "ci", tenant: "default")
            let found = try await store.authenticate(token)
            let has = try await store.hasKeys()
            let revoked = [try await store.revoke(key.id), try await store.revoke(key.id)]
            return compare("has keys", [none, has, try await store.hasKeys()], [false, true, false])
                + compare("found", found?.id, key.id) + compare("revoked", revoked, [true, false])
                + compare("then", try await store.authenticate(token) == nil, true)
        },
        Clause("another token of a key proves nothing, and neither does one of no key") { store in
            let (key, _) = try await store.create(name: "ci", tenant: "default")
            return compare("of the key", try await store.authenticate(APIKeyToken(id: key.id)) == nil, true)
                + compare("of no key", try await store.authenticate(APIKeyToken(id: APIKey.ID())) == nil, true)
                + compare("unknown", try await store.revoke(APIKey.ID()), false)
        },
        Clause("a key speaks for the operator where it was made to") { store in
            let admin = try await store.create(name: "ops", tenant: "default", isAdmin: true)
            let plain = try await store.create(name: "ci", tenant: "default")
            return compare("made", [admin.0.isAdmin, plain.0.isAdmin], [true, false])
                + compare("admin", try await store.authenticate(admin.1)?.isAdmin, true)
                + compare("plain", try await store.authenticate(plain.1)?.isAdmin, false)
        },
        Clause("keys of one name of tenant are of one tenant, and all are listed, revoked ones too") { store in
            let keys = [
                try await store.create(name: "a", tenant: "first").0,
                try await store.create(name: "b", tenant: "first").0,
                try await store.create(name: "c", tenant: "second").0,
            ]
            _ = try await store.revoke(keys[1].id)
            let listed = try await store.keys()
            return compare("same", keys[0].tenant, keys[1].tenant)
                + compare("other", keys[0].tenant == keys[2].tenant, false)
                + compare("names", listed.map(\.key.name), ["a", "b", "c"])
                + compare("tenants", listed.map(\.tenant.name), ["first", "first", "second"])
                + compare("revoked", listed.map { $0.key.revokedAt != nil }, [false, true, false])
        },
    ]
}
