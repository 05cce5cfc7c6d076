import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

@Suite struct BlobCatalogTests {
    private let mine = Tenant.ID(rawValue: 1)
    private let other = Tenant.ID(rawValue: 2)

    private func add(
        _ catalog: PostgresBlobCatalog,
        key: String? = nil,
        expiresAt: Timestamp? = nil
    ) async throws -> Blob {
        let content = MeasuredBlob(id: Blob.ID(), bytes: 5, digest: SHA256Digest(of: Array("hello".utf8)))
        let blob = Blob(tenant: mine, content: content, contentType: "text/plain", expiresAt: expiresAt)
        return try await catalog.add(blob, key: key)
    }

    @Test func `a tenant sees its blobs and nobody else's`() async throws {
        try await StoreFixture.with { fixture in
            let catalog = PostgresBlobCatalog(client: fixture.database.client)
            let blob = try await add(catalog)
            let found = try #require(try await catalog.blob(blob.id, of: mine))
            #expect(found.content == blob.content)
            #expect(found.contentType == "text/plain")
            #expect(try await catalog.blob(blob.id, of: other) == nil)
            #expect(try await catalog.hold([blob.id], for: Job.ID(), of: other).isEmpty)
            #expect(try await catalog.remove(blob.id, of: other) == .missing)
            #expect(try await catalog.remove(blob.id, of: mine) == .removed)
        }
    }

    @Test func `a blob stays while a job needs it, stored or about to be`() async throws {
        try await StoreFixture.with { fixture in
            let catalog = PostgresBlobCatalog(client: fixture.database.client)
            let (blob, job) = (try await add(catalog), try NewJob.make())
            #expect(try await catalog.hold([blob.id, Blob.ID()], for: job.id, of: mine) == [blob.id])
            #expect(try await catalog.remove(blob.id, of: mine) == .inUse)
            _ = try await fixture.store().enqueue([job])
            #expect(try await catalog.remove(blob.id, of: mine) == .inUse)
            let claimed = try #require(try await fixture.queue().claim(limit: 1).first)
            #expect(try await fixture.queue().settle(claimed, .make()))
            #expect(try await catalog.remove(blob.id, of: mine) == .removed)
        }
    }

    @Test func `a key answers with the blob that it made first`() async throws {
        try await StoreFixture.with { fixture in
            let catalog = PostgresBlobCatalog(client: fixture.database.client)
            let first = try await add(catalog, key: "k")
            #expect(try await add(catalog, key: "k").id == first.id)
            #expect(try await fixture.count("blobs") == 1)
        }
    }

    @Test func `what has expired goes unless a job needs it`() async throws {
        try await StoreFixture.with { fixture in
            let catalog = PostgresBlobCatalog(client: fixture.database.client)
            let past = Timestamp.now.advanced(by: .seconds(-60))
            let old = try await add(catalog, expiresAt: past)
            let soon = try await add(catalog, expiresAt: .now.advanced(by: .seconds(3600)))
            let job = try NewJob.make()
            #expect(try await catalog.hold([old.id, soon.id], for: job.id, of: mine) == [soon.id])
            #expect(try await catalog.removeExpired() == [old.id])
            #expect(try await catalog.removeExpired().isEmpty)
        }
    }

    @Test func `bytes that neither a blob nor a result names are orphans`() async throws {
        try await StoreFixture.with { fixture in
            let catalog = PostgresBlobCatalog(client: fixture.database.client)
            let (blob, stray, ofResult) = (try await add(catalog), Blob.ID(), Blob.ID())
            let job = try NewJob.make()
            _ = try await fixture.store().enqueue([job])
            let claimed = try #require(try await fixture.queue().claim(limit: 1).first)
            let body = MeasuredBlob(id: ofResult, bytes: 1, digest: SHA256Digest(of: [1]))
            #expect(try await fixture.queue().settle(claimed, .make(body: .blob(body))))
            #expect(try await catalog.orphans(among: [blob.id, stray, ofResult]) == [stray])
        }
    }
}
