import FetchJobs
import FetchRuntime
import FetchStorage
import Postgres
import TestSupport
import Testing

/// How many bytes of blobs a tenant may have.
@Suite struct StoredBytesTests {
    private func catalog(
        _ fixture: StoreFixture, _ maximum: Int64 = 100, _ unfinished: UnfinishedUploads = UnfinishedUploads()
    ) -> PostgresBlobCatalog {
        let limits = KnownTenantLimits(standard: [.maximumStoredBytes: maximum])
        let client = fixture.database.client
        return PostgresBlobCatalog(
            client: client, quota: .storedBytes(of: limits, client: client, unfinished: unfinished))
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

    // Proves: SEC-44.
    @Test func `what uploads hold that are not complete takes room`() async throws {
        try await StoreFixture.with { fixture async throws in
            let unfinished = UnfinishedUploads()
            let catalog = catalog(fixture, 100, unfinished)
            let upload = Upload.ID(in: .new())
            unfinished.begin(upload, of: .first, at: 20)
            unfinished.add(30, of: .first)
            #expect(try await catalog.room(of: .first) == BlobRoom(maximum: 100, left: 50))
            #expect(try await catalog.room(of: .second)?.left == 100)
            #expect(try await !hasRoom { () throws(StoreError) in _ = try await catalog.add(blob(51), nil) })
            #expect(try await hasRoom { () throws(StoreError) in _ = try await catalog.add(blob(40), nil) })
            #expect(unfinished.resize(upload, of: .first, to: 35))
            // More than there is room for is none, not less.
            #expect(try await catalog.room(of: .first)?.left == 0)
            unfinished.add(-30, of: .first)
            #expect(try await catalog.room(of: .first)?.left == 25)
            unfinished.end(upload, of: .first)
            #expect(try await catalog.room(of: .first)?.left == 60)
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

    // MARK: Bodies that are kept with jobs

    /// Ends a job with a body.
    private func end(
        _ body: JobOutcome.Body?, as state: JobState = .succeeded, file: RawJSON? = nil, at node: Int = 0,
        storedBefore days: Int = 0, _ fixture: StoreFixture
    ) async throws -> NewJob {
        let id = Job.ID(UUIDv7(at: Timestamp.now.advanced(by: .seconds(-86_400 * days))))
        let job = NewJob(id: id, tenant: fixture.tenant, spec: try .make())
        _ = try await fixture.store(node).enqueue([job])
        let claimed = try #require(try await fixture.queue(node).claim(limit: 1).first)
        var outcome = JobOutcome.make(state, body: body)
        outcome.file = file
        #expect(try await fixture.queue(node).settle(claimed, outcome))
        return job
    }

    private func storedBytes(_ fixture: StoreFixture) async throws -> Int64 {
        try await PostgresTenantStore(client: fixture.database.client).usage(of: fixture.tenant).storedBytes
    }

    private func inline(_ count: Int) -> JobOutcome.Body { .inline([UInt8](repeating: 120, count: count)) }

    // Proves: SEC-45.
    @Test func `bodies of jobs count, wherever they lie, and make room when they go`() async throws {
        try await StoreFixture.with { fixture async throws in
            let catalog = catalog(fixture)
            let first = try await end(inline(20), fixture)
            let large = MeasuredBlob(id: Blob.ID(), bytes: 30, digest: SHA256Digest(of: []))
            let second = try await end(.blob(large), at: 1, fixture)
            _ = try await end(nil, fixture)
            #expect(try await storedBytes(fixture) == 50)
            // A file is a blob, and counts as that.
            let file = blob(10)
            _ = try await catalog.addFile(file, of: nil, named: "a.txt", replacing: false)
            _ = try await end(.blob(file.content), file: RawJSON(Array("{}".utf8)), fixture)
            #expect(try await storedBytes(fixture) == 60)
            #expect(try await catalog.room(of: .first)?.left == 40)
            #expect(try await catalog.room(of: .second)?.left == 100)
            #expect(try await !hasRoom { () throws(StoreError) in _ = try await catalog.add(blob(41), nil) })
            // Another node removes what this one has stored.
            #expect(try await fixture.store(1).remove([first.id, first.id], of: .first) == [first.id])
            #expect(try await storedBytes(fixture) == 40)
            #expect(try await fixture.store().remove([second.id, first.id], of: .first) == [second.id])
            #expect(try await storedBytes(fixture) == 10)
            #expect(try await fixture.count("kept_bodies") == 2)
        }
    }

    @Test func `a job that is tried again has its body no more`() async throws {
        try await StoreFixture.with { fixture async throws in
            let job = try await end(inline(20), as: .failed, fixture)
            #expect(try await storedBytes(fixture) == 20)
            #expect(try await fixture.store().redrive([job]) == [job.id])
            #expect(try await storedBytes(fixture) == 0)
            #expect(try await fixture.store().redrive([job]).isEmpty)
            #expect(try await storedBytes(fixture) == 0)
        }
    }

    @Test func `bodies that expire make room, row by row and with their partition`() async throws {
        try await StoreFixture.with { fixture async throws in
            let retention = Duration.seconds(30 * 86_400)
            try await fixture.database.client.query(
                "SELECT add_job_partition(now() - interval '45 days', now() - interval '40 days')")
            for days in [50, 42, 0] { _ = try await end(inline(days + 1), storedBefore: days, fixture) }
            #expect(try await storedBytes(fixture) == 51 + 43 + 1)
            try await fixture.database.client.query(
                "UPDATE results SET finished_at = now() - interval '31 days' WHERE octet_length(body) > 1")
            try await fixture.queue().maintainPartitions(for: retention)
            #expect(try await storedBytes(fixture) == 51 + 1)
            #expect(try await fixture.queue().removeFinal(after: retention) == 1)
            #expect(try await storedBytes(fixture) == 1)
        }
    }

    @Test func `what nodes have counted that are gone is in one row, and the sum is the same`() async throws {
        try await StoreFixture.with { fixture async throws in
            _ = try await fixture.queue(1).heartbeat()
            for node in [0, 1] { _ = try await end(inline(10), at: node, fixture) }
            let expired = PostgresExpiredRowStore(client: fixture.database.client)
            for bytes in [20, 30] as [Int64] {
                #expect(try await expired.remove(.keptBodies, keeping: Retention()) == 1)
                #expect(try await expired.remove(.keptBodies, keeping: Retention()) == 0)
                #expect(try await storedBytes(fixture) == bytes)
                #expect(try await fixture.count("kept_bodies") == 2)
                _ = try await end(inline(10), fixture)
            }
        }
    }
}
