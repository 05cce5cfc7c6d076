import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The catalog in PostgreSQL and the one in memory keep the same promises.
@Suite struct BlobCatalogContractTests {
    @Test("the catalogs of blobs in memory keep the promise", arguments: BlobCatalogContract.clauses)
    func memory(_ clause: Clause<BlobCatalogContract.Subject>) async throws {
        let jobs = MemoryJobStore()
        let subject = BlobCatalogContract.Subject(jobs: .memory(jobs), catalog: MemoryBlobCatalog(jobs: jobs))
        #expect(try await clause.differences(in: subject) == [])
    }

    @Test("the catalogs of blobs in PostgreSQL keep the promise", arguments: BlobCatalogContract.clauses)
    func postgres(_ clause: Clause<BlobCatalogContract.Subject>) async throws {
        try await StoreFixture.with { fixture in
            let catalog = PostgresBlobCatalog(client: fixture.database.client)
            let subject = BlobCatalogContract.Subject(jobs: fixture.jobsSubject, catalog: catalog)
            let differences = try await clause.differences(in: subject)
            #expect(differences == [])
        }
    }

    /// Over one server, which takes what several take.
    @Test(
        "the catalogs of blobs keep the promise in the statements for several servers",
        arguments: BlobCatalogContract.clauses)
    func sharded(_ clause: Clause<BlobCatalogContract.Subject>) async throws {
        try await StoreFixture.with { fixture in
            fixture.database.setSharded()
            let catalog = PostgresBlobCatalog(client: fixture.database.client)
            let subject = BlobCatalogContract.Subject(jobs: fixture.jobsSubject, catalog: catalog)
            let differences = try await clause.differences(in: subject)
            #expect(differences == [])
        }
    }
}
