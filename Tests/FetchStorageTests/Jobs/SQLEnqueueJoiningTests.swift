import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// Jobs from SQL that belong to something: a flow, a group, blobs.
@Suite struct SQLEnqueueJoiningTests {
    private struct Undone: Error {}

    private func group(_ fixture: StoreFixture) async throws -> (PostgresGroupStore, JobGroup.ID) {
        let store = PostgresGroupStore(client: fixture.database.client)
        let group = JobGroup(tenant: fixture.tenant, spec: try JobGroupSpec(json: JSONParser.parse("{}".utf8)))
        _ = try await store.create(group, nil)
        return (store, group.id)
    }

    private func blob(_ fixture: StoreFixture, expiresAt: Timestamp? = nil) async throws -> Blob.ID {
        let content = MeasuredBlob(id: Blob.ID(), bytes: 5, digest: SHA256Digest(of: Array("hello".utf8)))
        let blob = Blob(tenant: fixture.tenant, content: content, contentType: nil, expiresAt: expiresAt)
        _ = try await PostgresBlobCatalog(client: fixture.database.client).add(blob, nil)
        return blob.id
    }

    private func sending(_ blob: Blob.ID) -> String {
        #"{"request": {"url": "http://origin.example/", "method": "PUT", "body": {"blob": "\#(blob)"}}}"#
    }

    private func limit(_ limiter: Limiter.Address, _ limits: SharedLimits, _ fixture: StoreFixture) async throws {
        let limiters = PostgresLimiterStore(
            client: fixture.database.client, known: fixture.limiters[0], intake: nil, announce: {})
        try await limiters.set(limits, of: limiter)
    }

    @Test func `groups, gates and holds count as in the API`() async throws {
        try await StoreFixture.with { fixture in
            let (_, group) = try await group(fixture)
            let blobs = [try await blob(fixture), try await blob(fixture)].sorted()
            var limits = SharedLimits()
            limits.parallelism = 1
            for (kind, key) in [(Limiter.Kind.flow, "orders"), (.host, "limited.example")] {
                try await limit(Limiter.Address(tenant: fixture.tenant, kind: kind, key: key), limits, fixture)
            }
            let parts = blobs.map { #"{"name": "a", "blob": "\#($0)"}"# }.joined(separator: ",")
            let body = #""method": "POST", "body": {"multipart": [\#(parts)]}"#
            for job in [
                #"{"request": {"url": "http://origin.example/"}, "group": "\#(group)", "flow": {"key": "orders"}}"#,
                #"{"request": {"url": "http://LIMITED.example/"}, "flow": {"key": "other"}}"#,
                #"{"request": {"url": "http://limited.example/"}, "runAt": "2099-01-01T00:00:00Z"}"#,
                #"{"request": {"url": "http://origin.example/", \#(body)}, "group": "\#(group)"}"#,
                #"{"request": "http://origin.example/", "kind": "download", "resumeFrom": "\#(blobs[0])"}"#,
            ] {
                let byAPI = NewJob(tenant: fixture.tenant, spec: try JobSpec(json: try JSONParser.parse(job.utf8)))
                let catalog = PostgresBlobCatalog(client: fixture.database.client)
                _ = try await catalog.hold(Set(byAPI.spec.blobs.map(\.id)), for: byAPI.id, of: fixture.tenant)
                _ = try await fixture.store().enqueue([byAPI])
                let bySQL = try await fixture.enqueueBySQL(job)
                let expected = try #require(try await fixture.columns(of: byAPI.id))
                #expect(try await fixture.columns(of: bySQL) == expected)
            }
        }
    }

    @Test func `a member that is null is left out`() async throws {
        try await StoreFixture.with { fixture in
            let names = ["session", "flow", "group", "resumeFrom", "webhook", "labels", "runAt", "discretionary"]
            let more = names.map { #", "\#($0)": null"# }.joined()
            let id = try await fixture.enqueueBySQL(#"{"request": {"url": "http://origin.example/"}\#(more)}"#)
            let stored = try #require(try await fixture.store().job(id, of: fixture.tenant))
            let spec = try JobSpec(json: JSONParser.parse(#"{"request": "http://origin.example/"}"#.utf8))
            #expect(stored.storedSpec == spec)
        }
    }

    // R37
    @Test func `the jobs of one transaction pass a flow in their order`() async throws {
        try await StoreFixture.with { fixture in
            let limiter = Limiter.Address(tenant: fixture.tenant, kind: .flow, key: "orders")
            var limits = SharedLimits()
            limits.order = .fifo
            try await limit(limiter, limits, fixture)
            let job = #"{"request": "http://origin.example/", "flow": {"key": "orders"}}"#
            let rows = try await fixture.database.client.query(
                "SELECT fetchd.enqueue(\(job)::text::json) FROM generate_series(1, 20)")
            let ids = try rows.map { Job.ID(try $0.decode(String.self, at: 0)) }
            let queue = fixture.queue()
            for id in ids {
                _ = try await queue.admit([limiter])
                let claimed = try await queue.claim(limit: 2)
                #expect(claimed.map(\.id) == [id])
                #expect(try await queue.settle(try #require(claimed.first), .make()))
            }
        }
    }

    @Test func `a group waits for the transactions that store jobs of it, and for nothing else`() async throws {
        try await StoreFixture.with { fixture in
            let (groups, group) = try await group(fixture)
            let job = #"{"request": "http://origin.example/", "group": "\#(group)"}"#
            let connection = try await fixture.database.connect()
            try await connection.transaction { connection in
                try await fixture.enqueueBySQL(job, on: connection)
                #expect(try await groups.close(group, of: fixture.tenant)?.state == .closed)
                // Others are not held up.
                let (_, other) = try await self.group(fixture)
                #expect(try await groups.close(other, of: fixture.tenant)?.state == .finished)
            }
            #expect(try await fixture.refusal(of: job).hasPrefix("/group is not a group of yours that takes jobs"))
            try await groups.settle()
            #expect(try await groups.group(group, of: fixture.tenant)?.state == .closed)
            let claimed = try #require(try await fixture.queue().claim(limit: 9).first)
            #expect(try await fixture.queue().settle(claimed, .make()))
            try await groups.settle()
            #expect(try await groups.group(group, of: fixture.tenant)?.state == .finished)
            #expect(try await groups.counts(of: group, tenant: fixture.tenant) == [.succeeded: 1])

            let (_, undone) = try await self.group(fixture)
            let unwanted = #"{"request": "http://origin.example/", "group": "\#(undone)"}"#
            await #expect(throws: Undone.self) {
                try await connection.transaction { connection in
                    try await fixture.enqueueBySQL(unwanted, on: connection)
                    throw Undone()
                }
            }
            #expect(try await groups.close(undone, of: fixture.tenant)?.state == .finished)
            await connection.close()
        }
    }

    @Test func `a blob stays while a transaction holds it, and when that commits`() async throws {
        try await StoreFixture.with { fixture in
            let catalog = PostgresBlobCatalog(client: fixture.database.client)
            let (kept, shared, undone) = (try await blob(fixture), try await blob(fixture), try await blob(fixture))
            let connection = try await fixture.database.connect()
            try await connection.transaction { connection in
                try await fixture.enqueueBySQL(sending(kept), on: connection)
                try await fixture.enqueueBySQL(sending(shared), on: connection)
                #expect(try await catalog.remove(kept, of: fixture.tenant) == .inUse)
                // Neither the API nor another transaction waits for it.
                #expect(try await catalog.hold([shared], for: Job.ID(), of: fixture.tenant) == [shared])
                try await fixture.enqueueBySQL(sending(shared))
            }
            #expect(try await catalog.remove(kept, of: fixture.tenant) == .inUse)
            await #expect(throws: Undone.self) {
                try await connection.transaction { connection in
                    try await fixture.enqueueBySQL(sending(undone), on: connection)
                    throw Undone()
                }
            }
            #expect(try await catalog.remove(undone, of: fixture.tenant) == .removed)
            #expect(try await fixture.refusal(of: sending(undone)).hasPrefix("/request/body/blob is not a blob"))
            await connection.close()
        }
    }

    @Test func `a blob that expires is not removed while a job from SQL needs it`() async throws {
        try await StoreFixture.with { fixture in
            let catalog = PostgresBlobCatalog(client: fixture.database.client)
            let blob = try await blob(fixture, expiresAt: .now.advanced(by: .seconds(3600)))
            let connection = try await fixture.database.connect()
            let expire: Query = "UPDATE blobs SET expires_at = now() - interval '1 second'"
            try await connection.transaction { connection in
                try await fixture.enqueueBySQL(sending(blob), on: connection)
                try await fixture.database.client.query(expire)
                #expect(try await catalog.removeExpired().isEmpty)
            }
            #expect(try await catalog.removeExpired().isEmpty)
            let claimed = try #require(try await fixture.queue().claim(limit: 1).first)
            #expect(try await fixture.queue().settle(claimed, .make()))
            #expect(try await catalog.removeExpired() == [blob])
            await connection.close()
        }
    }
}
