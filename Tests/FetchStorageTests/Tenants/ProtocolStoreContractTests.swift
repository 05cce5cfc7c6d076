import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The protocols in PostgreSQL and those in memory keep the same promises.
@Suite struct ProtocolStoreContractTests {
    @Test("the protocols in memory keep the promise", arguments: ProtocolStoreContract.clauses)
    func memory(_ clause: Clause<any ProtocolStore>) async throws {
        #expect(try await clause.differences(in: MemoryProtocolStore()) == [])
    }

    @Test("the protocols in PostgreSQL keep the promise", arguments: ProtocolStoreContract.clauses)
    func postgres(_ clause: Clause<any ProtocolStore>) async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresProtocolStore(
                client: fixture.database.client, ring: try KeyRing(KeyRing.generate()))
            #expect(try await clause.differences(in: store) == [])
        }
    }
}
