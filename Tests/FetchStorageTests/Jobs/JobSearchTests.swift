import FetchEngine
import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// Lists of jobs by their members.
@Suite struct JobSearchTests {
    /// A job whose path ends with a digit: those with greater ones are newer.
    private func job(_ url: String, _ more: String = "", tenant: Int64 = 1) throws -> NewJob {
        let spec = try JobSpec(json: JSONParser.parse(#"{"request":{"url":"\#(url)"}\#(more)}"#.utf8))
        let time = Timestamp.now.advanced(by: .seconds(url.last?.wholeNumberValue ?? 0))
        return NewJob(id: Job.ID(UUIDv7(at: time)), tenant: Tenant.ID(rawValue: tenant), spec: spec)
    }

    private func filter(_ change: (inout JobFilter) -> Void) -> JobFilter {
        var filter = JobFilter()
        change(&filter)
        return filter
    }

    // Proves: SEC-41.
    @Test func `each member of a filter finds its jobs, the newest first, and those of no other tenant`() async throws {
        try await StoreFixture.with { fixture in
            let store = fixture.store()
            let jobs = [
                try job("https://a.example/1", #", "labels": {"k": "1", "l": "x"}"#),
                try job("https://[::1]:8080/2", #", "kind": "download""#),
                try job("https://a.example/3", #", "labels": {"k": "1"}, "expiresAt": "2999-01-01T00:00:00Z""#),
                try job("data:,4"),
                try job("https://a.example/5", #", "labels": {"k": "1"}"#, tenant: 2),
            ]
            for job in jobs { _ = try await store.enqueue([job]) }
            let k = JobSpec.Label(name: "k", value: "1")
            for (filter, expected) in [
                (filter { $0.host = "a.example" }, [2, 0]), (filter { $0.host = "[::1]:8080" }, [1]),
                (filter { $0.host = "b.example" }, []), (filter { $0.kind = .download }, [1]),
                (filter { $0.kind = .upload }, []), (filter { $0.kind = .data }, [3, 2, 0]),
                (filter { $0.labels = [k] }, [2, 0]),
                (filter { $0.labels = [k, JobSpec.Label(name: "l", value: "x")] }, [0]),
                (filter { $0.session = .default }, [3, 2, 1, 0]), (filter { $0.session = TenantSession.ID() }, []),
                (filter { $0.createdAfter = Timestamp.now.advanced(by: .seconds(60)) }, []),
                (filter { $0.createdBefore = Timestamp.now.advanced(by: .seconds(60)) }, [3, 2, 1, 0]),
                (filter { ($0.host, $0.state) = ("a.example", .queued) }, [2, 0]),
                (filter { ($0.host, $0.state) = ("a.example", .running) }, []),
                (filter { ($0.host, $0.state) = ("a.example", .failed) }, []),
                (filter { ($0.host, $0.state) = ("a.example", .succeeded) }, []),
                (filter { ($0.host, $0.kind) = ("a.example", .download) }, []),
                (filter { ($0.kind, $0.session) = (.data, .default) }, [3, 2, 0]),
                (filter { ($0.labels, $0.host) = ([k], "a.example") }, [2, 0]),
                (filter { ($0.labels, $0.state) = ([k], .queued) }, [2, 0]),
                (filter { ($0.labels, $0.states) = ([k], [.queued, .running]) }, [2, 0]),
                (filter { ($0.host, $0.error) = ("a.example", "timedOut") }, []),
            ] {
                let found = try await store.jobs(of: fixture.tenant, matching: filter, page: JobPage(limit: 9))
                #expect(found.map(\.id) == expected.map { jobs[$0].id }, "\(filter)")
            }
        }
    }

    /// Fills in jobs of one host, of which every so many is a POST, with ids in the order of their making.
    private func fill(_ count: Int32, _ fixture: StoreFixture, _ database: TestDatabase, post every: Int32) async throws
    {
        try await database.client.query(
            """
            INSERT INTO jobs (tenant_id, id, spec, host, kind)
            SELECT \(fixture.tenant),
                ('00000000-0000-7000-8000-' || lpad(to_hex(i + (SELECT count(*) FROM jobs)), 12, '0'))::uuid,
                json_build_object('request', json_build_object(
                    'url', 'https://a.example/' || i,
                    'method', CASE WHEN i % \(every) = 0 THEN 'POST' ELSE 'GET' END)),
                'a.example', 'data'
            FROM generate_series(1, \(count)) i
            """)
        // As autovacuum does in time: without figures of the table its pages are guessed.
        try await database.client.query("ANALYZE jobs")
    }

    @Test func `a page looks at a bounded number of jobs, and the next goes on where it stopped`() async throws {
        try await TestDatabase.with(Schema.migrations) { database in
            let fixture = try StoreFixture(database: database)
            let (store, looks) = (fixture.store(), JobList.maximumLooks)
            try await fill(Int32(3 * looks - 1), fixture, database, post: Int32(2 * looks))
            let post = filter { $0.method = "POST" }
            let only = try #require(
                try await database.client.query(
                    "SELECT id FROM jobs WHERE spec #>> '{request,method}' = 'POST'"
                ).first?.decode(Job.ID.self, at: 0))
            for isBackward in [false, true] {
                var found: [Job.ID] = []
                var pages = 0
                var place: JobPage.Place = isBackward ? .before(Job.ID(UUIDv7(high: 0, low: 0))) : .start
                while true {
                    let page = JobPage(limit: 5, at: place)
                    let list = try await store.jobs(of: fixture.tenant, matching: post, page: page)
                    (found, pages) = (found + list.map(\.id), pages + 1)
                    guard let rest = list.rest else { break }
                    place = isBackward ? .before(rest) : .after(rest)
                }
                #expect(found == [only] && pages == 3)
            }
            let all = filter { $0.prefix = URLFilter("https://a.example/") }
            let page = try await store.jobs(of: fixture.tenant, matching: all, page: JobPage(limit: 5))
            #expect(page.count == 5 && page.rest == page.last?.id)
            let count = try await store.count(of: fixture.tenant, matching: all, limit: 10_000)
            #expect(count == JobCount(looks, isWhole: false))
            let ofHost = filter { $0.host = "a.example" }
            let host = try await store.count(of: fixture.tenant, matching: ofHost, limit: 10_000)
            #expect(host == JobCount(3 * looks - 1, isWhole: true))
            for filter in [
                filter { $0.kind = .data }, filter { $0.session = .default },
                filter { ($0.host, $0.kind) = ("a.example", .data) },
            ] {
                let count = try await store.count(of: fixture.tenant, matching: filter, limit: 10_000)
                #expect(count == JobCount(looks, isWhole: false), "\(filter)")
            }
        }
    }

    // Proves: REL-15.
    @Test(arguments: ["method", "url", "bodyBytes", "status", "state"])
    func `a page that finds nothing reads as many pages of the database beside many jobs as beside few`(
        word: String
    ) async throws {
        try await TestDatabase.withCountedPages { database in
            let fixture = try StoreFixture(database: database)
            let store = fixture.store()
            let filter = filter { filter in
                switch word {
                case "method": filter.method = "PUT"
                case "url": filter.url = URLFilter("https://a.example/none")
                case "status": filter.status = StatusFilter("200")
                case "state": (filter.host, filter.state) = ("a.example", .succeeded)
                default: filter.bodyBytes = BodySizeFilter("1..")
                }
            }
            func pages() async throws -> Int64 {
                try await database.pages {
                    let list = try await store.jobs(of: fixture.tenant, matching: filter, page: JobPage(limit: 25))
                    #expect(list.isEmpty && list.rest != nil)
                    let count = try await store.count(of: fixture.tenant, matching: filter, limit: 10_000)
                    #expect(count == JobCount(0, isWhole: false))
                }
            }
            try await fill(5000, fixture, database, post: 2)
            _ = try await pages()
            let few = try await pages()
            try await fill(30_000, fixture, database, post: 2)
            let many = try await pages()
            #expect(many < 2 * few, "\(few) pages, then \(many)")
        }
    }

    @Test func `members are found together whichever of them has the index that is walked`() async throws {
        try await StoreFixture.with { fixture in
            let (store, queue) = (fixture.store(), fixture.queue())
            let jobs = try (1...4).map { try job("https://\($0 % 2 == 0 ? "a" : "b").example/\($0)") }
            _ = try await store.enqueue(jobs)
            var refused = JobOutcome.make()
            refused.status = 404
            // Both of one host: one fails, one has its answer.
            var outcomes = [JobOutcome.make(.failed), refused]
            for claimed in try await queue.claim(limit: 4) where claimed.spec.request.url.host == "a.example" {
                #expect(try await queue.settle(claimed, outcomes.removeFirst()))
            }
            for (filter, count) in [
                (filter { ($0.host, $0.state) = ("a.example", .failed) }, 1),
                (filter { ($0.host, $0.state) = ("b.example", .failed) }, 0),
                (filter { ($0.host, $0.error) = ("a.example", "timedOut") }, 1),
                (filter { ($0.state, $0.error) = (.failed, "timedOut") }, 1),
                (filter { ($0.state, $0.error) = (.cancelled, "timedOut") }, 0),
                (filter { ($0.host, $0.status) = ("a.example", StatusFilter("404")) }, 1),
                (filter { $0.status = StatusFilter("4xx") }, 1), (filter { $0.status = StatusFilter("5xx") }, 0),
                (filter { $0.status = StatusFilter("200") }, 0),
                (filter { ($0.state, $0.status) = (.succeeded, StatusFilter("404")) }, 1),
                (filter { ($0.host, $0.state) = ("b.example", .running) }, 2),
                (filter { ($0.host, $0.state) = ("a.example", .running) }, 0),
                (filter { ($0.kind, $0.state) = (.data, .running) }, 2),
            ] {
                let list = try await store.jobs(of: fixture.tenant, matching: filter, page: JobPage(limit: 9))
                #expect(list.count == count && list.rest == nil, "\(filter)")
                let counted = try await store.count(of: fixture.tenant, matching: filter, limit: 9)
                #expect(counted == JobCount(count, isWhole: true), "\(filter)")
            }
        }
    }

    @Test func `labels are found as they were changed last, errors as jobs ended`() async throws {
        try await StoreFixture.with { fixture in
            let store = fixture.store()
            let job = try job("https://a.example/1", #", "labels": {"k": "1"}"#)
            _ = try await store.enqueue([job])
            let old = try #require(try await store.job(job.id, of: fixture.tenant)).spec
            let json = #"{"request":{"url":"https://a.example/1"}, "labels": {"k": "2"}}"#
            let spec = try JobSpec(json: JSONParser.parse(json.utf8))
            let change = try JobChange(json: JSONParser.parse(#"{"labels": {"k": "2"}}"#.utf8))
            #expect(try await store.change(job.id, of: fixture.tenant, from: old, to: spec, change))
            for (value, count) in [("1", 0), ("2", 1)] {
                let filter = filter { $0.labels = [JobSpec.Label(name: "k", value: value)] }
                #expect(
                    try await store.jobs(of: fixture.tenant, matching: filter, page: JobPage(limit: 9)).count == count)
            }
            let claimed = try #require(try await fixture.queue().claim(limit: 1).first)
            #expect(try await fixture.queue().settle(claimed, .make(.failed)))
            for (error, count) in [("timedOut", 1), ("cancelled", 0)] {
                let filter = filter { $0.error = error }
                #expect(
                    try await store.jobs(of: fixture.tenant, matching: filter, page: JobPage(limit: 9)).count == count)
            }
        }
    }
}
