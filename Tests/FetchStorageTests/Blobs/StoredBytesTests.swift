import FetchJobs
import FetchRuntime
import FetchStorage
import Postgres
import TestSupport
import Testing

/// How many bytes of blobs a tenant may have.
@Suite struct StoredBytesTests {
    private func catalog(_ fixture: StoreFixture, _ maximum: Int64 = 100) -> PostgresBlobCatalog {
        let limits = KnownTenantLimits(standard: [.maximumStoredBytes: maximum])
        return PostgresBlobCatalog(
            client: fixture.database.client, quota: .storedBytes(of: limits, client: fixture.database.client))
    }

    private func blob(_ bytes: Int64, of tenant: Tenant.ID = .first) -> Blob {
        let content = MeasuredBlob(id: Blob.ID(), bytes: bytes, digest: SHA256Digest(of: []))
        return Blob(tenant: tenant, content: content, contentType: nil)
    }

    /// Whether there is room for what is done.
    private func hasRoom(_ add: () async throws(StoreError) -> Void) async throws -> Bool {
        do throws(StoreError) {
            try await add()
            return true
        } catch {
            guard error.code == .overQuota else { throw error }
            return false
        }
    }

    // Proves: SEC-45.
    @Test func `uploads and files count together, what goes beyond is refused, and what goes makes room`() async throws
    {
        try await StoreFixture.with { fixture async throws in
            let catalog = catalog(fixture)
            let first = blob(60)
            _ = try await catalog.add(first, nil)
            #expect(try await catalog.room(of: .first) == BlobRoom(maximum: 100, left: 40))
            let file = try await catalog.addFile(blob(30), of: nil, named: "a.txt", replacing: false)
            #expect(file.filename == "a.txt")
            #expect(try await !hasRoom { () throws(StoreError) in _ = try await catalog.add(blob(11), nil) })
            #expect(
                try await !hasRoom { () throws(StoreError) in
                    _ = try await catalog.addFile(blob(11), of: nil, named: "b.txt", replacing: false)
                })
            #expect(try await hasRoom { () throws(StoreError) in _ = try await catalog.add(blob(10), nil) })
            #expect(try await catalog.room(of: .first)?.left == 0)
            #expect(try await fixture.count("blobs") == 3)
            // Another tenant has its own room.
            #expect(try await catalog.room(of: .second)?.left == 100)
            #expect(try await catalog.remove(first.id, of: .first) == .removed)
            let entries = try await fixture.database.client.query(
                "SELECT FROM audit_entries WHERE action = 'blobs.delete' AND object = \(first.id.description)")
            #expect(entries.count == 1)
            try await until { try await catalog.room(of: .first)?.left == 60 }
            #expect(try await hasRoom { () throws(StoreError) in _ = try await catalog.add(blob(60), nil) })
        }
    }

    @Test func `a repeated request is answered as ever when there is no room`() async throws {
        try await StoreFixture.with { fixture async throws in
            let (catalog, first) = (catalog(fixture), blob(100))
            let key = Idempotency(key: "k", fingerprint: SHA256Digest(of: []))
            _ = try await catalog.add(first, key)
            guard case .replayed(let again) = try await catalog.add(blob(100), key) else {
                throw StoreError(.failed, "not replayed")
            }
            #expect(again.id == first.id)
            #expect(try await catalog.room(of: .first)?.left == 0)
        }
    }

    @Test func `what was not added takes no room`() async throws {
        try await StoreFixture.with { fixture async throws in
            let catalog = catalog(fixture)
            for _ in 0..<5 {
                #expect(try await !hasRoom { () throws(StoreError) in _ = try await catalog.add(blob(101), nil) })
            }
            #expect(try await catalog.room(of: .first)?.left == 100)
            #expect(try await catalog.room(of: .first)?.maximum == 100)
            let free = PostgresBlobCatalog(client: fixture.database.client)
            #expect(try await free.room(of: .first) == nil)
        }
    }
}
