package import FetchJobs

/// The contract of every form of ``SignInStore``.
package enum SignInStoreContract {
    /// A form, and the keys that its sign-ins begin with.
    package struct Subject: Sendable {
        let signIns: any SignInStore
        let keys: any KeyStore

        package init(signIns: any SignInStore, keys: any KeyStore) {
            self.signIns = signIns
            self.keys = keys
        }
    }

    private static let hours = Duration.seconds(8 * 3600)

    package static let clauses: [Clause<Subject>] = [
        Clause("a sign-in is known until it ends") { subject in
            let (key, _) = try await subject.keys.create(name: "a", tenant: "default")
            let id = SignIn.ID()
            let begun = try await subject.signIns.begin(id, with: key, as: .operator, for: hours)
            let found = try await subject.signIns.signIn(id)
            try await subject.signIns.end(id)
            return compare("begun", begun?.id, id) + compare("found", found, begun)
                + compare("tenant", found?.tenant, key.tenant) + compare("role", found?.role, .operator)
                + compare("key", found?.key, key.id)
                + compare("ended", try await subject.signIns.signIn(id), nil)
                + compare("never begun", try await subject.signIns.signIn(SignIn.ID()), nil)
        },
        Clause("a sign-in is over when its time is, and when its key is revoked or has expired") { subject in
            let (key, _) = try await subject.keys.create(name: "a", tenant: "default")
            let short = SignIn.ID()
            _ = try await subject.signIns.begin(short, with: key, as: .viewer, for: .seconds(-1))
            let id = SignIn.ID()
            _ = try await subject.signIns.begin(id, with: key, as: .viewer, for: hours)
            _ = try await subject.keys.revoke(key.id, of: nil)
            let late = try await subject.signIns.begin(SignIn.ID(), with: key, as: .viewer, for: hours)
            let old = APIKeySpec(name: "old", expiresAt: .now.advanced(by: .seconds(-1)))
            let (expired, _) = try await subject.keys.create(old, for: .tenant(named: "default"))
            let last = try await subject.signIns.begin(SignIn.ID(), with: expired, as: .viewer, for: hours)
            return compare("its time", try await subject.signIns.signIn(short), nil)
                + compare("its key", try await subject.signIns.signIn(id), nil)
                + compare("begun with a revoked key", late, nil) + compare("begun with an expired key", last, nil)
        },
        Clause("a link signs in once, with its role") { subject in
            let link = try await subject.signIns.makeLink(as: .admin, forTenant: "linked", lifetime: .seconds(60))
            let id = SignIn.ID()
            let first = try await subject.signIns.begin(id, with: link, for: hours)
            let second = try await subject.signIns.begin(SignIn.ID(), with: link, for: hours)
            let found = try await subject.signIns.signIn(id)
            return compare("first", first?.role, .admin) + compare("key", first?.key == nil, true)
                + compare("second", second, nil) + compare("found", found, first)
        },
        Clause("somebody whom a provider has signed in is known by that, for a tenant that there is") { subject in
            let person = TokenSubject(issuer: "https://login.example", subject: "ada")
            let link = try await subject.signIns.makeLink(as: .admin, forTenant: "linked", lifetime: .seconds(60))
            let tenant = try await subject.signIns.begin(SignIn.ID(), with: link, for: hours)?.tenant
            let id = SignIn.ID()
            let begun = try await subject.signIns.begin(id, of: person, as: .viewer, forTenant: "linked", for: hours)
            let found = try await subject.signIns.signIn(id)
            let other = try await subject.signIns.begin(
                SignIn.ID(), of: person, as: .viewer, forTenant: "nobody", for: hours)
            return compare("begun", begun?.subject, "https://login.example ada")
                + compare("tenant", begun?.tenant, tenant) + compare("role", begun?.role, .viewer)
                + compare("found", found, begun) + compare("of no tenant", other, nil)
        },
        Clause("of many who use a link at once, one is signed in") { subject in
            let link = try await subject.signIns.makeLink(as: .viewer, forTenant: "linked", lifetime: .seconds(60))
            let count = try await withThrowingTaskGroup(of: SignIn?.self) { group in
                for _ in 0..<10 {
                    group.addTask { try await subject.signIns.begin(SignIn.ID(), with: link, for: hours) }
                }
                return try await group.reduce(0) { $1 == nil ? $0 : $0 + 1 }
            }
            return compare("signed in", count, 1)
        },
        Clause("a link opens nothing after its time, with another secret, or when it was never made") { subject in
            let old = try await subject.signIns.makeLink(as: .viewer, forTenant: "linked", lifetime: .seconds(-1))
            let link = try await subject.signIns.makeLink(as: .viewer, forTenant: "linked", lifetime: .seconds(60))
            var text = link.revealed
            text.replaceSubrange(text.index(before: text.endIndex)..., with: text.hasSuffix("0") ? "1" : "0")
            let forged = SignInLink(text)
            var differences = compare("forged", forged?.id, link.id)
            for (name, link) in [("old", old), ("forged", forged ?? old), ("unknown", SignInLink())] {
                let begun = try await subject.signIns.begin(SignIn.ID(), with: link, for: hours)
                differences += compare(name, begun, nil)
            }
            let begun = try await subject.signIns.begin(SignIn.ID(), with: link, for: hours)
            return differences + compare("the right one", begun == nil, false)
        },
    ]
}
