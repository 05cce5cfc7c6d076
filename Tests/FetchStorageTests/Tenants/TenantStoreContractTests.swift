import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The tenants in PostgreSQL and those in memory keep the same promises.
@Suite struct TenantStoreContractTests {
    @Test("the tenants in memory keep the promise", arguments: TenantStoreContract.clauses)
    func memory(_ clause: Clause<any TenantStore>) async throws {
        let store = MemoryTenantStore(TenantStoreContract.names)
        #expect(try await clause.differences(in: store) == [])
    }

    @Test("the tenants in PostgreSQL keep the promise", arguments: TenantStoreContract.clauses)
    func postgres(_ clause: Clause<any TenantStore>) async throws {
        try await StoreFixture.with { fixture in
            // The first is there from the start.
            for name in TenantStoreContract.names.dropFirst() {
                try await fixture.database.client.query("INSERT INTO tenants (name) VALUES (\(name))")
            }
            let differences = try await clause.differences(in: PostgresTenantStore(client: fixture.database.client))
            #expect(differences == [])
        }
    }
}
