import FetchEngine
import FetchJobs
import FetchRuntime
import FetchStorage
import Foundation
import Postgres
import TestSupport
import Testing

@Suite struct CredentialStoresTests {
    private let space = ProtectionSpace(
        host: "h.example", port: 443, scheme: "https", realm: "r", method: .httpBasic)

    private func credential(
        _ user: String = "u", _ password: String = "p", _ persistence: Credential.Persistence = .permanent
    ) -> Credential {
        Credential(user: user, password: password, persistence: persistence)
    }

    @Test func `a space has credentials by user, and one default`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let storage = fixture.nodes[0].credentialStorage(of: fixture.session)
            await storage.set(credential("a"), for: space)
            await storage.set(credential("b"), for: space)
            #expect(await storage.defaultCredential(for: space)?.user == "a")
            await storage.setDefault(credential("b", "new"), for: space)
            #expect(await storage.defaultCredential(for: space) == credential("b", "new"))
            #expect(await storage.credentials(for: space) == ["a": credential("a"), "b": credential("b", "new")])
            #expect(await storage.allCredentials().keys.map(\.self) == [space])
            var other = space
            other.realm = nil
            #expect(await storage.defaultCredential(for: other) == nil)
            await storage.remove(credential("b", "new"), for: space)
            #expect(await storage.credentials(for: space).keys.map(\.self) == ["a"])
            await storage.removeAll()
            #expect(await storage.allCredentials().isEmpty)
        }
    }

    @Test func `a change on one node is there for the next job on another`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let storages = fixture.nodes.map { $0.credentialStorage(of: fixture.session) }
            #expect(await storages[1].defaultCredential(for: space) == nil)
            var changes = storages[1].changes().makeAsyncIterator()
            await storages[0].setDefault(credential(), for: space)
            fixture.nodes[1].require(try await fixture.version(), of: fixture.session)
            #expect(await storages[1].defaultCredential(for: space) == credential())
            #expect(await changes.next() == space)
        }
    }

    // Proves: SEC-61.
    @Test func `each job that is given a credential is written down once`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let node = fixture.nodes[0]
            let storage = node.credentialStorage(of: fixture.session)
            await storage.set(credential(), for: space)
            let jobs = [Job.ID(), Job.ID()]
            for job in jobs {
                // As for the hops of a load.
                for _ in 0..<3 {
                    let found = await storage.defaultCredential(for: space, taskDescription: job.description)
                    #expect(found == credential())
                }
                #expect(await storage.defaultCredential(for: space) == credential())
            }
            try await withThrowingTaskGroup { group in
                group.addTask { try await node.credentialUses.run() }
                defer { group.cancelAll() }
                var found: [CredentialUse] = []
                try await until {
                    found = try await node.uses(of: nil, tenant: fixture.session.tenant, after: nil, limit: 10)
                    return found.count >= jobs.count
                }
                #expect(found.count == jobs.count)
                #expect(Set(found.map(\.job)) == Set(jobs))
            }
        }
    }

    @Test func `what is for a session is for no other, what is permanent for all of the tenant`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            try await fixture.database.client.query("INSERT INTO tenants (name) VALUES ('other')")
            let own = SessionAddress(tenant: fixture.session.tenant, session: TenantSession.ID())
            let sibling = SessionAddress(tenant: fixture.session.tenant, session: TenantSession.ID())
            let foreign = SessionAddress(tenant: Tenant.ID(rawValue: 2))
            let node = fixture.nodes[0]
            await node.credentialStorage(of: own).setDefault(credential("s", "p", .forSession), for: space)
            await node.credentialStorage(of: own).set(credential("n", "p", .none), for: space)
            await node.credentialStorage(of: own).setDefault(credential("t", "p", .permanent), for: space)
            let other = fixture.nodes[1]
            #expect(await other.credentialStorage(of: own).defaultCredential(for: space)?.user == "s")
            #expect(await other.credentialStorage(of: own).credentials(for: space).keys.sorted() == ["s", "t"])
            #expect(await other.credentialStorage(of: sibling).defaultCredential(for: space)?.user == "t")
            #expect(await other.credentialStorage(of: foreign).allCredentials().isEmpty)
        }
    }

    @Test func `a refusal is noted until the credential is replaced`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let (node, session) = (fixture.nodes[0], fixture.session)
            let storage = node.credentialStorage(of: session)
            await storage.setDefault(credential(), for: space)
            let before = try await node.credentials(of: session)
            #expect(before.map { $0.lastFailureAt == nil } == [true])
            await storage.noteFailure(of: credential(), for: space)
            #expect(try await node.credentials(of: session).first?.lastFailureAt != nil)
            await storage.setDefault(credential("u", "better"), for: space)
            #expect(try await node.credentials(of: session).map { $0.lastFailureAt == nil } == [true])
        }
    }

    // Proves: SEC-50.
    @Test func `a dump holds no secret in any form`() async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let storage = fixture.nodes[0].credentialStorage(of: fixture.session)
            let canary = "canary-55aa-secret"
            await storage.setDefault(credential("u", canary), for: space)
            var bearer = space
            bearer.method = .httpBearer
            await storage.setDefault(Credential(bearerToken: canary, persistence: .permanent), for: bearer)
            let keys = TenantKeys(client: fixture.database.client, ring: fixture.ring)
            let store = PostgresJobStore(
                client: fixture.database.client, genericPlan: fixture.database.genericPlan, keys: keys, node: Node.ID(),
                limiters: KnownLimiters(client: fixture.database.client), intake: nil,
                waiters: CompletionWaiters(), announce: { _ in })
            let spec = try JobSpec.make(url: "http://u:\(canary)@origin.example/")
            _ = try await store.enqueue([NewJob(tenant: fixture.session.tenant, spec: spec)])
            let dump = try await onThread { [text = fixture.database.connectionString] in
                let program = try Program(["/usr/bin/env", "pg_dump", text], readsOutput: true)
                return (program.output(), program.waitForEnd())
            }
            try #require(dump.1 == 0)
            #expect(dump.0.contains("COPY public.credentials"))
            let hexadecimal = canary.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            for form in [canary, hexadecimal, Data(canary.utf8).base64EncodedString()] {
                #expect(!dump.0.contains(form))
            }
            // And yet the job that is claimed has it.
            let queue = PostgresWorkQueue(
                client: fixture.database.client, genericPlan: fixture.database.genericPlan, keys: keys,
                presence: NodePresence(),
                limiters: KnownLimiters(client: fixture.database.client), waiters: CompletionWaiters())
            let claimed = try #require(try await queue.claim(limit: 1).first)
            #expect(claimed.spec == spec)
            #expect(!String(describing: claimed.spec.request).contains(canary))
        }
    }
}
