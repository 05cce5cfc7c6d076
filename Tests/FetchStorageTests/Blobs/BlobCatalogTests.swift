import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

@Suite struct BlobCatalogTests {
    private let mine = Tenant.ID(rawValue: 1)

    private func file() -> Blob {
        Blob(
            tenant: mine, content: MeasuredBlob(id: Blob.ID(), bytes: 5, digest: SHA256Digest(of: Array("hello".utf8))),
            contentType: nil, expiresAt: nil)
    }

    @Test func `of two files that replace one at the same time the later has the name`() async throws {
        try await StoreFixture.with { fixture in
            let catalog = PostgresBlobCatalog(client: fixture.database.client)
            let (first, meanwhile, last) = (file(), file(), file())
            _ = try await catalog.addFile(first, of: nil, named: "a", replacing: true)
            let answer = try await fixture.database.during([
                "DELETE FROM blobs WHERE filename = 'a'",
                """
                INSERT INTO blobs (tenant_id, id, bytes, digest, filename)
                VALUES (\(mine), \(meanwhile.id), 5, '', 'a')
                """,
            ]) { try await catalog.addFile(last, of: nil, named: "a", replacing: true) }
            #expect(answer.replaced == meanwhile.id)
            #expect(try await fixture.count("blobs WHERE filename = 'a'") == 1)
            #expect(try await catalog.blob(last.id, of: mine) != nil)
        }
    }

    @Test func `a file that is filed once more, since the answer was lost, replaces nothing`() async throws {
        try await StoreFixture.with { fixture async throws in
            let catalog = PostgresBlobCatalog(client: fixture.database.client)
            let blob = file()
            for _ in 0..<2 {
                #expect(try await catalog.addFile(blob, of: nil, named: "a", replacing: true).replaced == nil)
            }
            #expect(try await fixture.count("blobs") == 1)
        }
    }
}
