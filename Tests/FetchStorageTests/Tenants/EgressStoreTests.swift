import FetchEngine
import FetchJobs
import FetchRuntime
import FetchStorage
import Postgres
import TestSupport
import Testing

@Suite struct EgressStoreTests {
    @Test("egress documents in memory keep the promise", arguments: EgressStoreContract.clauses)
    func memory(_ clause: Clause<any EgressStore>) async throws {
        #expect(try await clause.differences(in: MemoryEgressStore()) == [])
    }

    @Test("egress documents in PostgreSQL keep the promise", arguments: EgressStoreContract.clauses)
    func postgres(_ clause: Clause<any EgressStore>) async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresEgressStore(client: fixture.database.client)
            let differences = try await clause.differences(in: store)
            #expect(differences == [])
        }
    }

    private static func denying(_ host: String) throws -> TargetRules {
        TargetRules(deny: [TargetRule(hosts: [try #require(TargetRule.host(host))])])
    }

    private static func isDenied(_ host: String, _ policy: TargetPolicy) throws -> Bool {
        let url = try URLRecord("https://\(host)/")
        do throws(TargetRefusal) { try TargetGuard(policy: policy).judge(url) } catch {
            return error.code == .egressDenied
        }
        return false
    }

    @Test func `a node learns with its heartbeat of documents that another one has stored, and of those taken away`()
        async throws
    {
        try await StoreFixture.with { fixture in
            let store = PostgresEgressStore(client: fixture.database.client)
            let known = KnownEgress(EgressPolicies(standard: .publicOnly), store: store)
            let queue = fixture.queue(egress: known)
            _ = try await queue.heartbeat()
            #expect(known.policy(of: fixture.tenant) == .publicOnly)
            _ = try await store.replaceEgress(of: .service, named: nil, nil, with: Self.denying("a.example"))
            _ = try await store.replaceEgress(of: fixture.tenant, named: "t", nil, with: Self.denying("b.example"))
            _ = try await queue.heartbeat()
            let (own, other) = (known.policy(of: fixture.tenant), known.policy(of: .init(rawValue: 99)))
            #expect(try Self.isDenied("a.example", own) && Self.isDenied("b.example", own))
            #expect(try Self.isDenied("a.example", other) && !Self.isDenied("b.example", other))
            _ = try await store.replaceEgress(of: fixture.tenant, named: "t", nil, with: nil)
            _ = try await queue.heartbeat()
            #expect(try !Self.isDenied("b.example", known.policy(of: fixture.tenant)))
            #expect(try Self.isDenied("a.example", known.policy(of: fixture.tenant)))
        }
    }

    @Test func `a document that a node cannot read leaves it the one that it has`() async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresEgressStore(client: fixture.database.client)
            let known = KnownEgress(EgressPolicies(standard: .publicOnly), store: store)
            let queue = fixture.queue(egress: known)
            _ = try await store.replaceEgress(of: .service, named: nil, nil, with: Self.denying("a.example"))
            _ = try await queue.heartbeat()
            try await fixture.database.client.query(
                #"UPDATE egress SET document = '{"mode": "new"}', version = version + 1"#)
            try await fixture.database.client.query("UPDATE queue_state SET version = version + 1")
            let heartbeat = try await queue.heartbeat()
            #expect(heartbeat.failures.map(\.step) == [.egress])
            #expect(try Self.isDenied("a.example", known.current.service))
        }
    }

    @Test func `what was stored here is known although something older is read later`() async throws {
        let store = MemoryEgressStore()
        let known = KnownEgress(EgressPolicies(standard: .publicOnly), store: store)
        known.note(EgressDocument(try Self.denying("a.example"), version: 2), of: .service)
        known.note(EgressDocument(version: 1), of: .service)
        try await known.refresh()
        #expect(try Self.isDenied("a.example", known.current.service))
    }
}
