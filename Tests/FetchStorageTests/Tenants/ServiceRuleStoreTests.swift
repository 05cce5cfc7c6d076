import FetchJobs
import FetchRuntime
import FetchStorage
import Postgres
import TestSupport
import Testing

@Suite struct ServiceRuleStoreTests {
    @Test("the rules of the service in memory keep the promise", arguments: ServiceRuleStoreContract.clauses)
    func memory(_ clause: Clause<any ServiceRuleStore>) async throws {
        #expect(try await clause.differences(in: MemoryServiceRuleStore()) == [])
    }

    @Test("the rules of the service in PostgreSQL keep the promise", arguments: ServiceRuleStoreContract.clauses)
    func postgres(_ clause: Clause<any ServiceRuleStore>) async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresServiceRuleStore(client: fixture.database.client)
            let differences = try await clause.differences(in: store)
            #expect(differences == [])
        }
    }

    @Test func `a node learns with its heartbeat of rules that another one has stored`() async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresServiceRuleStore(client: fixture.database.client)
            let known = KnownServiceRules(store: store)
            let queue = fixture.queue(rules: known)
            _ = try await queue.heartbeat()
            #expect(known.current.rules == [])
            let rules = [Rule(name: "a", on: .didReceiveResponse, .cancel)]
            _ = try await store.replaceServiceRules(nil, with: rules)
            _ = try await queue.heartbeat()
            #expect(known.current.rules == rules)
        }
    }

    @Test func `rules that a node cannot read leave it those that it has, and its lease`() async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresServiceRuleStore(client: fixture.database.client)
            let known = KnownServiceRules(store: store)
            let queue = fixture.queue(rules: known)
            let rules = [Rule(name: "a", on: .didReceiveResponse, .cancel)]
            _ = try await store.replaceServiceRules(nil, with: rules)
            _ = try await queue.heartbeat()
            try await fixture.database.client.query(
                #"UPDATE service_rules SET rules = '[{"on": "new", "answer": "new"}]'"#)
            try await fixture.database.client.query("UPDATE queue_state SET version = version + 1")
            let heartbeat = try await queue.heartbeat()
            #expect(heartbeat.failures.map(\.step) == [.rules])
            #expect(known.current.rules == rules)
        }
    }
}
