import FetchEngine
package import FetchJobs

/// The contract of every form of ``KeyStore``.
package enum KeyStoreContract {
    package static let clauses: [Clause<any KeyStore>] = [
        Clause("a token proves its key until that is revoked, which happens once") { store in
            let none = try await store.hasKeys()
            let (key, token) = try await store.create(name: "ci", tenant: "default")
            let found = try await store.authenticate(token)
            let has = try await store.hasKeys()
            let revoked = [try await store.revoke(key.id, of: nil), try await store.revoke(key.id, of: nil)]
            return compare("has keys", [none, has, try await store.hasKeys()], [false, true, false])
                + compare("found", found?.id, key.id) + compare("revoked", revoked, [true, false])
                + compare("then", try await store.authenticate(token) == nil, true)
        },
        Clause("another token of a key proves nothing, and neither does one of no key") { store in
            let (key, _) = try await store.create(name: "ci", tenant: "default")
            return compare("of the key", try await store.authenticate(APIKeyToken(id: key.id)) == nil, true)
                + compare("of no key", try await store.authenticate(APIKeyToken(id: APIKey.ID())) == nil, true)
                + compare("unknown", try await store.revoke(APIKey.ID(), of: nil), false)
        },
        Clause("a key is what it was made to be, from every side") { store in
            let spec = APIKeySpec(
                name: "stranger", scopes: [.readJobs, .writeJobs], session: .default,
                hosts: [HostPattern("a.example"), HostPattern("*.b.example:8443")].compactMap(\.self), maximumJobs: 7,
                expiresAt: Timestamp(microseconds: 4_000_000_000_000_000))
            let (key, token) = try await store.create(spec, for: .tenant(named: "default"))
            return compare("made", key.spec, spec)
                + compare("authenticated", try await store.authenticate(token)?.spec, spec)
                + compare("found", try await store.key(key.id, of: key.tenant)?.key.spec, spec)
                + compare("listed", try await store.keys(of: nil, after: nil, limit: 9).map(\.key.spec), [spec])
        },
        Clause("a key that has expired proves nothing, and cannot be revoked or rotated") { store in
            let spec = APIKeySpec(name: "old", expiresAt: .now.advanced(by: .seconds(-1)))
            let (key, token) = try await store.create(spec, for: .tenant(named: "default"))
            return compare("authenticated", try await store.authenticate(token) == nil, true)
                + compare("revoked", try await store.revoke(key.id, of: nil), false)
                + compare("rotated", try await store.rotate(key.id, of: nil, overlap: .zero, by: nil) == nil, true)
                + compare("has keys", try await store.hasKeys(), false)
        },
        Clause("a key is of its tenant alone") { store in
            let key = try await store.create(name: "a", tenant: "first").0
            let other = try await store.create(name: "b", tenant: "second").0
            let made = try await store.create(APIKeySpec(name: "c", scopes: [.keys]), for: .tenantOf(key)).0
            let rotated = try await store.rotate(key.id, of: other.tenant, overlap: .zero, by: other.id)
            return compare("maker", [made.createdBy, key.createdBy], [key.id, nil])
                + compare("tenant", made.tenant, key.tenant)
                + compare("found", try await store.key(key.id, of: other.tenant) == nil, true)
                + compare("revoked", try await store.revoke(key.id, of: other.tenant), false)
                + compare("rotated", rotated == nil, true)
                + compare(
                    "listed", try await store.keys(of: key.tenant, after: nil, limit: 9).map(\.key.id),
                    [key.id, made.id])
                + compare(
                    "page", try await store.keys(of: nil, after: key.id, limit: 1).map(\.key.id), [other.id])
                + compare("named", try await store.key(other.id, of: nil)?.tenant.name, "second")
        },
        Clause("a rotated key has its rights, both are valid for a while, and there is never a third") { store in
            let spec = APIKeySpec(name: "ci", scopes: [.readJobs], hosts: HostPattern("a.example").map { [$0] })
            let (old, first) = try await store.create(spec, for: .tenant(named: "default"))
            guard let (new, second) = try await store.rotate(old.id, of: nil, overlap: .seconds(3600), by: old.id)
            else {
                return ["a valid key was not rotated"]
            }
            let known = try await store.authenticate(first)
            let again = [
                try await store.rotate(old.id, of: nil, overlap: .zero, by: nil) == nil,
                try await store.rotate(new.id, of: nil, overlap: .zero, by: nil) == nil,
            ]
            _ = try await store.revoke(old.id, of: nil)
            let third = try await store.rotate(new.id, of: nil, overlap: .zero, by: nil)
            return compare("rights", new.spec, spec) + compare("maker", new.createdBy, old.id)
                + compare("new, once it was rotated itself", try await store.authenticate(second) == nil, true)
                + compare("old ends", known?.spec.expiresAt.map { $0 > .now }, true)
                + compare("old is replaced", known?.replacedBy, new.id) + compare("twice", again, [true, true])
                + compare("third", third?.0.spec, spec)
        },
        Clause("rotations at once make one key") { store in
            let (key, _) = try await store.create(name: "ci", tenant: "default")
            let made = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<8 {
                    group.addTask { try await store.rotate(key.id, of: nil, overlap: .seconds(60), by: nil) != nil }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            return compare("made", made, 1)
        },
        Clause("the jobs of a key are counted up to its maximum, with those of its rotation and of keys made with it") {
            store in
            let spec = APIKeySpec(name: "ten", maximumJobs: 10)
            let (key, _) = try await store.create(spec, for: .tenant(named: "default"))
            let child = try await store.create(APIKeySpec(name: "five", maximumJobs: 5), for: .tenantOf(key)).0
            let next = try await store.rotate(key.id, of: nil, overlap: .seconds(60), by: nil)?.0 ?? key
            let free = try await store.create(name: "free", tenant: "default").0
            let counted = [
                try await store.count(3, submittedBy: key), try await store.count(4, submittedBy: child),
                try await store.count(6, submittedBy: next), try await store.count(-1, submittedBy: next),
                try await store.count(3, submittedBy: key), try await store.count(1, submittedBy: key),
                try await store.count(99, submittedBy: free),
            ]
            // The maximum of the child is of all that are counted together.
            return compare("counted", counted, [3, 2, 5, -1, 1, 0, 99])
                + compare("submitted", try await store.key(child.id, of: nil)?.key.submittedJobs, 10)
        },
        Clause("jobs that are counted at once never pass the maximum") { store in
            let spec = APIKeySpec(name: "ten", maximumJobs: 10)
            let (key, _) = try await store.create(spec, for: .tenant(named: "default"))
            let counted = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<30 { group.addTask { try await store.count(1, submittedBy: key) } }
                return try await group.reduce(0, +)
            }
            return compare("counted", counted, 10)
        },
        Clause("the last use of a key is kept, and an earlier one changes nothing") { store in
            let key = try await store.create(name: "a", tenant: "default").0
            let other = try await store.create(name: "b", tenant: "default").0
            let (early, late) = (Timestamp(microseconds: 1_000_000), Timestamp(microseconds: 2_000_000))
            try await store.noteUses([key.id: late, APIKey.ID(): late])
            try await store.noteUses([key.id: early])
            return compare("used", try await store.key(key.id, of: nil)?.key.lastUsedAt, late)
                + compare("unused", try await store.key(other.id, of: nil)?.key.lastUsedAt, nil)
        },
        Clause("keys of one name of tenant are of one tenant, and all are listed, revoked ones too") { store in
            let keys = [
                try await store.create(name: "a", tenant: "first").0,
                try await store.create(name: "b", tenant: "first").0,
                try await store.create(name: "c", tenant: "second").0,
            ]
            _ = try await store.revoke(keys[1].id, of: nil)
            let listed = try await store.keys(of: nil, after: nil, limit: .max)
            return compare("same", keys[0].tenant, keys[1].tenant)
                + compare("other", keys[0].tenant == keys[2].tenant, false)
                + compare("names", listed.map(\.key.spec.name), ["a", "b", "c"])
                + compare("tenants", listed.map(\.tenant.name), ["first", "first", "second"])
                + compare("revoked", listed.map { $0.key.revokedAt != nil }, [false, true, false])
        },
    ]
}
