import FetchJobs
import FetchStorage
import TestSupport
import Testing

/// The stores of sessions in PostgreSQL and those in memory keep the same promises.
@Suite struct SessionResourcesContractTests {
    @Test("the stores in memory keep the promise", arguments: SessionResourcesContract.clauses)
    func memory(_ clause: Clause<any SessionResources>) async throws {
        #expect(try await clause.differences(in: MemorySessionResources()) == [])
    }

    @Test("the stores in PostgreSQL keep the promise", arguments: SessionResourcesContract.clauses)
    func postgres(_ clause: Clause<any SessionResources>) async throws {
        try await StoreFixture.with { fixture in
            let resources = PostgresSessionResources(
                client: fixture.database.client, keys: fixture.keys, node: fixture.nodes[0], peers: Peers(),
                blobs: MemoryBlobStore(), logger: TestDatabase.logger)
            let differences = try await clause.differences(in: resources)
            #expect(differences == [])
        }
    }
}
