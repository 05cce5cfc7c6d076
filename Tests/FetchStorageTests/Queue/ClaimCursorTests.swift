import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// R41: rows that an old snapshot keeps in the queue are stepped over.
@Suite struct ClaimCursorTests {
    private static func end(_ tenant: Int64, _ rank: Int16, at microseconds: Int64) -> ClaimCursor.End {
        let time = Timestamp(microseconds: microseconds)
        return .init(tenant: Tenant.ID(rawValue: tenant), rank: rank, runAt: time, job: Job.ID())
    }

    @Test func `each tenant and rank has an end, which only moves on`() {
        var cursor = ClaimCursor()
        let ends = [Self.end(1, 500, at: 5), Self.end(1, 500, at: 9), Self.end(1, 500, at: 7), Self.end(1, 0, at: 1)]
        for end in ends { cursor.take(end) }
        #expect(cursor.ends == [ends[1], ends[3]])
    }

    @Test func `ends move back to a time, and those before it stay`() {
        var cursor = ClaimCursor()
        let ends = [Self.end(1, 500, at: 5), Self.end(2, 500, at: 7), Self.end(3, 0, at: 9)]
        for end in ends { cursor.take(end) }
        cursor.moveBack(to: Timestamp(microseconds: 7))
        #expect(cursor.ends.map(\.runAt.microseconds) == [5, 6, 6])
        #expect(cursor.ends.map(\.job) == ends.map(\.job))
    }

    @Test func `those that were not used for the longest time are forgotten`() {
        var cursor = ClaimCursor()
        for tenant in 1...Int64(ClaimCursor.maximumCount) { cursor.take(Self.end(tenant, 500, at: 1)) }
        cursor.take(Self.end(1, 500, at: 2))
        cursor.take(Self.end(99, 500, at: 1))
        #expect(cursor.ends.count == ClaimCursor.maximumCount)
        #expect(cursor.ends.first?.tenant.rawValue == 3 && cursor.ends.last?.tenant.rawValue == 99)
        #expect(cursor.ends.contains { $0.tenant.rawValue == 1 })
    }

    @Test func `jobs in front of those that were taken last are found, of any rank and tenant`() async throws {
        try await StoreFixture.with { fixture in
            let (store, queue) = (fixture.store(), fixture.queue())
            func make(_ priority: Double) throws -> NewJob { try .make(more: #", "priority": \#(priority)"#) }
            let jobs = try [0.5, 0.9, 0.1, 0.5, 0.9, 0.1].map(make)
            _ = try await store.enqueue(jobs)
            let taken = try await queue.claim(limit: 4)
            #expect(taken.map(\.id) == [1, 4, 0, 3].map { jobs[$0].id })
            // Behind where this node has been, between, and in front of it.
            let later = try [0.9, 0.7, 1, 0].map(make)
            _ = try await store.enqueue(later)
            #expect(try await queue.claim(upTo: 3).jobs.map(\.id) == [later[2], later[0], later[1]].map(\.id))
            // These came late: they go in front of the remaining ones.
            try await queue.release(Array(taken.prefix(2)))
            let rest = try await queue.claim(limit: 9).map(\.id)
            #expect(Set(rest) == Set([jobs[1], jobs[4], jobs[2], jobs[5], later[3]].map(\.id)))
        }
    }

    // Proves: REL-15.
    @Test func `claims beside an open transaction do not walk over all that was taken since`() async throws {
        try await TestDatabase.withCountedPages { database in
            let fixture = try StoreFixture(database: database)
            let (store, queue) = (fixture.store(), fixture.queue())
            let holder = try await database.connect()
            try await holder.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
            try await holder.query("SELECT count(*) FROM queue")
            /// The pages that most claims of a single job look at: now and then, one starts at the head.
            func pages() async throws -> Int64 {
                var counts: [Int64] = []
                for _ in 0..<9 {
                    _ = try await store.enqueue([try .make()])
                    counts.append(try await database.pages { _ = try await queue.claim(upTo: 1) })
                }
                return counts.sorted()[4]
            }
            /// The same of a job whose time comes before that of a job that was claimed already.
            func pagesOfLate() async throws -> Int64 {
                var counts: [Int64] = []
                for _ in 0..<9 {
                    let hour = Timestamp.now.advanced(by: .seconds(3600))
                    let late = try NewJob.make(more: #", "runAt": "\#(hour.description)""#)
                    _ = try await store.enqueue([late])
                    try await database.client.query("UPDATE queue SET run_at = now() WHERE job_id = \(late.id)")
                    _ = try await store.enqueue([try .make()])
                    _ = try await queue.claim(upTo: 1)
                    #expect(try await queue.promote().hasQueuedJobs)
                    counts.append(
                        try await database.pages {
                            let ids = try await queue.claim(upTo: 1).jobs.map(\.id)
                            #expect(ids == [late.id])
                        })
                }
                return counts.sorted()[4]
            }
            let (few, fewOfLate) = (try await pages(), try await pagesOfLate())
            for _ in 0..<20 {
                _ = try await store.enqueue(try (0..<500).map { _ in try NewJob.make() })
                #expect(try await queue.claim(limit: 500).count == 500)
                try await database.client.query("DELETE FROM queue")
            }
            // A plan that is made anew, as statements of a sharded database are, looks for the ends of indexes: at up to 100
            // pages for each.
            let planning: Int64 = database.client.isSharded ? 200 : 0
            let many = try await pages()
            #expect(many < 2 * few + planning, "\(few) pages, then \(many)")
            let manyOfLate = try await pagesOfLate()
            #expect(manyOfLate < 2 * fewOfLate + planning, "\(fewOfLate) pages of late jobs, then \(manyOfLate)")
            await holder.close()
        }
    }
}
