import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The cookies in PostgreSQL and those in memory keep the same promises.
@Suite struct CookieCatalogContractTests {
    @Test("the cookies in memory keep the promise", arguments: CookieCatalogContract.clauses)
    func memory(_ clause: Clause<any CookieCatalog>) async throws {
        #expect(try await clause.differences(in: MemoryCookieCatalog()) == [])
    }

    @Test("the cookies in PostgreSQL keep the promise", arguments: CookieCatalogContract.clauses)
    func postgres(_ clause: Clause<any CookieCatalog>) async throws {
        try await SessionStoresFixture.with { fixture async throws in
            try await fixture.database.client.query("INSERT INTO tenants (name) VALUES ('other')")
            let differences = try await clause.differences(in: fixture.nodes[0])
            #expect(differences == [])
        }
    }
}
