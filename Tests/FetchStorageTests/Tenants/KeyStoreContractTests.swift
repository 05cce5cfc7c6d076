import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The API keys in PostgreSQL and those in memory keep the same promises.
@Suite struct KeyStoreContractTests {
    // Proves: SEC-40.
    @Test("the API keys in memory keep the promise", arguments: KeyStoreContract.clauses)
    func memory(_ clause: Clause<any KeyStore>) async throws {
        #expect(try await clause.differences(in: MemoryKeyStore()) == [])
    }

    // Proves: SEC-40.
    @Test("the API keys in PostgreSQL keep the promise", arguments: KeyStoreContract.clauses)
    func postgres(_ clause: Clause<any KeyStore>) async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresKeyStore(client: fixture.database.client, ring: try KeyRing(KeyRing.generate()))
            let differences = try await clause.differences(in: store)
            #expect(differences == [])
        }
    }
}
