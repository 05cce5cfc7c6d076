import FetchJobs
import FetchStorage
import TestSupport
import Testing

/// How many bytes of specs one claim reads.
@Suite struct ClaimedBytesTests {
    /// Of about a million bytes.
    private func large(of tenant: Tenant.ID) throws -> NewJob {
        let body = String(repeating: "a", count: 1_000_000)
        let text = #"{"request": {"url": "http://a.example/", "method": "POST", "body": {"text": "\#(body)"}}}"#
        return NewJob(tenant: tenant, spec: try JobSpec(json: try JSONParser.parse(text.utf8)))
    }

    @Test func `a claim takes large jobs up to a number of bytes, and leaves others to the next one`() async throws {
        try await StoreFixture.with { fixture in
            let jobs = try (0..<7).map { _ in try large(of: fixture.tenant) }
            for job in jobs { _ = try await fixture.store().enqueue([job]) }
            let queue = fixture.queue()
            // The fifth is the one that goes beyond four MiB.
            let first = try await queue.claim(upTo: 100)
            #expect(first.jobs.map(\.id) == jobs.prefix(5).map(\.id))
            #expect(!first.isLast)
            for job in jobs.suffix(2) {
                #expect(try await fixture.store().job(job.id, of: fixture.tenant)?.state == .queued)
            }
            let rest = try await queue.claim(limit: 100)
            #expect(rest.map(\.id) == jobs.suffix(2).map(\.id))
            #expect(rest.map(\.claim) == [2, 2])
            #expect(try await queue.claim(limit: 100).isEmpty)
        }
    }
}
