import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

/// Actions on all jobs of a filter, and their export.
struct JobActionRoutes: Sendable {
    enum Action: String, CaseIterable {
        case cancel, suspend, resume, retry, delete

        /// Whether it makes a difference to a job in a state.
        func changes(_ state: JobState) -> Bool {
            switch self {
            case .cancel: !state.isFinal
            case .suspend: !state.isFinal && state != .suspended
            case .resume: state == .suspended
            case .retry: state == .failed || state == .cancelled
            case .delete: state.isFinal
            }
        }
    }

    /// The form of a job in an export.
    enum ExportForm: String, CaseIterable {
        /// All there is to know.
        case job
        /// The submission, which can be submitted again.
        case submission
    }

    /// How many jobs one request deals with.
    static let maximumJobs = 10_000
    /// How many are dealt with at once.
    static let pageSize = 500
    /// How much memory the jobs take that are retried at once, but for the last of them.
    private static let bytesOfRetry = 4 << 20
    /// How many pages one request reads, where a filter looks at jobs one by one and finds few.
    static let maximumPages = 50

    let jobs: any JobStore
    let holds: BlobPins

    var routes: [Route] {
        [
            Route(.post, "/v1/jobs/actions", tenant: act),
            Route(.get, "/v1/jobs/export", tenant: export),
        ]
    }

    // MARK: Actions

    private struct Order {
        let action: Action
        let filter: JobFilter
        let limit: Int
        let cursor: JobCursor?
        /// Nothing is done: the response states what would be done.
        let isDryRun: Bool
        private static let maximum = Int64(JobActionRoutes.maximumJobs)

        init(json: JSONValue) throws {
            let check = InputCheck()
            let object = JSONReader(json, check: check).object(
                of: ["action", "filter", "all", "dryRun", "limit", "cursor"])
            let action = object?.required("action")?.oneOf(Action.self)
            let filter = object?.required("filter").flatMap { JobFilter(reader: $0) }
            let isForAll = object?["all"]?.bool() ?? false
            if filter == JobFilter(), !isForAll {
                object?["filter"]?.refuse("says nothing: to mean all jobs, say \"all\": true beside it")
            }
            isDryRun = object?["dryRun"]?.bool() ?? false
            limit = Int(object?["limit"]?.integer(in: 1...Self.maximum) ?? Self.maximum)
            let cursor = object?["cursor"]?.string(maximumLength: 512)
            try check.finish()
            guard let action, let filter else { throw Problem(.invalidInput) }
            self.action = action
            self.filter = filter
            self.cursor = try cursor.map { try JobCursor($0, filter: filter) }
        }
    }

    private func act(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let (json, _) = try await call.submission(upTo: JobRoutes.maximumBody)
        let order = try Order(json: json)
        let outcome = try await act(
            order.action, on: order.filter, of: tenant, limit: order.limit, maximumPages: Self.maximumPages,
            after: order.cursor?.after, isDryRun: order.isDryRun)
        return .json { writer in
            writer.member("matched", outcome.matched)
            writer.member("changed", outcome.changed)
            writer.member("nextCursor", outcome.last.map { JobCursor(after: $0, filter: order.filter).text })
        }
    }

    /// What an action did to many jobs, or would do.
    struct Outcome {
        var matched = 0
        var changed = 0
        /// The matching jobs, by the state that they were in.
        var states: [JobState: Int] = [:]
        /// The last job dealt with or looked at; nil when there are no more.
        var last: Job.ID?
    }

    /// Does something with the jobs of a filter, page by page, the newest first.
    ///
    /// - Parameters:
    ///   - limit: How many jobs it deals with at most.
    ///   - maximumPages: How many pages it reads at most.
    ///   - after: Where it goes on; nil for the newest job.
    ///   - isDryRun: Nothing is done: the outcome states what would be done.
    func act(
        _ action: Action, on filter: JobFilter, of tenant: Tenant.ID, limit: Int = maximumJobs, maximumPages: Int,
        after: Job.ID? = nil, isDryRun: Bool
    ) async throws -> Outcome {
        var outcome = Outcome()
        outcome.last = after
        var pages = 0
        repeat {
            try Task.checkCancellation()
            let size = min(Self.pageSize, limit - outcome.matched)
            let page = try await jobs.jobs(
                of: tenant, matching: filter, page: JobPage(limit: size, after: outcome.last))
            outcome.last = page.rest
            pages += 1
            if !page.isEmpty {
                try await act(action, on: page.map { ($0.id, $0.state) }, of: tenant, isDryRun: isDryRun, &outcome)
            }
        } while outcome.last != nil && outcome.matched < limit && pages < maximumPages
        return outcome
    }

    /// Does something with some jobs, and adds to what was done before.
    func act(
        _ action: Action, on page: [(id: Job.ID, state: JobState)], of tenant: Tenant.ID, isDryRun: Bool,
        _ outcome: inout Outcome
    ) async throws {
        outcome.matched += page.count
        for job in page { outcome.states[job.state, default: 0] += 1 }
        outcome.changed +=
            isDryRun ? page.count { action.changes($0.state) } : try await perform(action, on: page, tenant)
    }

    /// - Returns: How many jobs it made a difference to.
    private func perform(
        _ action: Action, on page: [(id: Job.ID, state: JobState)], _ tenant: Tenant.ID
    ) async throws -> Int {
        let live = page.filter { !$0.state.isFinal }.map(\.id)
        let final = page.filter(\.state.isFinal).map(\.id)
        switch action {
        case .cancel:
            try await jobs.cancel(live, of: tenant, .plainly)
            return live.count
        case .suspend, .resume:
            try await jobs.setSuspended(live, of: tenant, action == .suspend)
            return page.count { action.changes($0.state) }
        case .delete: return try await jobs.remove(final, of: tenant).count
        case .retry: return try await retry(page.filter { action.changes($0.state) }.map(\.id), tenant)
        }
    }

    private func retry(_ ids: [Job.ID], _ tenant: Tenant.ID) async throws -> Int {
        var again: [NewJob] = []
        var (bytes, changed) = (0, 0)
        for id in ids {
            guard let spec = try await jobs.job(id, of: tenant)?.storedSpec else { continue }
            let job = NewJob(id: id, tenant: tenant, spec: spec)
            // One whose blobs are gone stays as it is.
            do { try await holds.hold(for: job) } catch is InvalidInput { continue }
            again.append(job)
            bytes += job.bytesInMemory
            guard bytes > Self.bytesOfRetry else { continue }
            changed += try await jobs.redrive(again).count
            (again, bytes) = ([], 0)
        }
        return again.isEmpty ? changed : try await changed + jobs.redrive(again).count
    }

    // MARK: Export

    private func export(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: JobFilter.parameters.union(["form"]))
        let filter = try JobFilter(query)
        return try await lines(of: filter, tenant, in: try query.oneOf("form", ExportForm.self) ?? .job)
    }

    /// The jobs of a filter, one a line.
    func lines(of filter: JobFilter, _ tenant: Tenant.ID, in form: ExportForm) async throws -> Response {
        // Looked at before the status is sent, so that a store that is away is not a broken answer.
        let first = try await jobs.jobs(of: tenant, matching: filter, page: JobPage(limit: Self.pageSize))
        let jobs = jobs
        return .lines(pages: first) { page in
            guard let last = page.rest else { return nil }
            return try await jobs.jobs(of: tenant, matching: filter, page: JobPage(limit: Self.pageSize, after: last))
        } write: { page, writer in
            for summary in page {
                guard let job = try await jobs.job(summary.id, of: tenant) else { continue }
                let line = form == .job ? job.json : job.submission
                try await writer.write(ByteBuffer(bytes: line + [UInt8(ascii: "\n")]))
            }
        }
    }
}

extension Job {
    /// The submission of its client, without the members that the service has set.
    var submission: [UInt8] {
        guard var submitted = storedSpec else { return spec.bytes }
        submitted.schedule = nil
        submitted.scheduledAt = nil
        submitted.trace = nil
        return submitted.json
    }
}
