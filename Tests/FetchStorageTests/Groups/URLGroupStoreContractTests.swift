import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The URL groups in PostgreSQL and those in memory keep the same promises.
@Suite struct URLGroupStoreContractTests {
    @Test("the URL groups in memory keep the promise", arguments: URLGroupStoreContract.clauses)
    func memory(_ clause: Clause<URLGroupStoreContract.Subject>) async throws {
        #expect(try await clause.differences(in: .init(store: MemoryURLGroupStore())) == [])
    }

    @Test("the URL groups in PostgreSQL keep the promise", arguments: URLGroupStoreContract.clauses)
    func postgres(_ clause: Clause<URLGroupStoreContract.Subject>) async throws {
        try await StoreFixture.with { fixture in
            let store = PostgresURLGroupStore(client: fixture.database.client)
            let differences = try await clause.differences(in: .init(store: store))
            #expect(differences == [])
        }
    }
}
