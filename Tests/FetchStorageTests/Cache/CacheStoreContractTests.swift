import FetchJobs
import FetchStorage
import TestSupport
import Testing

/// The cached answers in PostgreSQL and those in memory keep the same promises.
@Suite struct CacheStoreContractTests {
    @Test("the cached answers in memory keep the promise", arguments: CacheStoreContract.clauses)
    func memory(_ clause: Clause<any CacheStore>) async throws {
        #expect(try await clause.differences(in: MemoryCacheStore()) == [])
    }

    @Test("the cached answers in PostgreSQL keep the promise", arguments: CacheStoreContract.clauses)
    func postgres(_ clause: Clause<any CacheStore>) async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let differences = try await clause.differences(in: fixture.nodes[0])
            #expect(differences == [])
        }
    }
}
