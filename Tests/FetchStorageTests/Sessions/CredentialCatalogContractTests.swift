import FetchJobs
import FetchStorage
import TestSupport
import Testing

/// The credentials in PostgreSQL and those in memory keep the same promises.
@Suite struct CredentialCatalogContractTests {
    @Test("the credentials in memory keep the promise", arguments: CredentialCatalogContract.clauses)
    func memory(_ clause: Clause<any CredentialCatalog>) async throws {
        #expect(try await clause.differences(in: MemoryCredentialCatalog()) == [])
    }

    @Test("the credentials in PostgreSQL keep the promise", arguments: CredentialCatalogContract.clauses)
    func postgres(_ clause: Clause<any CredentialCatalog>) async throws {
        try await SessionStoresFixture.with { fixture async throws in
            let differences = try await clause.differences(in: fixture.nodes[0])
            #expect(differences == [])
        }
    }
}
