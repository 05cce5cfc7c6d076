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
        var (matched, changed) = (0, 0)
        var last = order.cursor?.after
        var hasMore = true
        while hasMore, matched < order.limit {
            let size = min(Self.pageSize, order.limit - matched)
            let page = try await jobs.jobs(of: tenant, matching: order.filter, page: JobPage(limit: size, after: last))
            matched += page.count
            hasMore = page.count == size
            last = page.last?.id ?? last
            guard !page.isEmpty else { break }
            if order.isDryRun {
                changed += page.count { order.action.changes($0.state) }
            } else {
                changed += try await perform(order.action, on: page, tenant)
            }
        }
        let next = hasMore ? last.map { JobCursor(after: $0, filter: order.filter).text } : nil
        return .json { writer in
            writer.member("matched", matched)
            writer.member("changed", changed)
            writer.member("nextCursor", next)
        }
    }

    /// - Returns: How many jobs it made a difference to.
    private func perform(_ action: Action, on page: [JobSummary], _ tenant: Tenant.ID) async throws -> Int {
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
        case .retry: return try await retry(page.filter { action.changes($0.state) }, tenant)
        }
    }

    private func retry(_ page: [JobSummary], _ tenant: Tenant.ID) async throws -> Int {
        var again: [NewJob] = []
        for summary in page {
            guard let spec = try await jobs.job(summary.id, of: tenant)?.storedSpec else { continue }
            let job = NewJob(id: summary.id, tenant: tenant, spec: spec)
            // One whose blobs are gone stays as it is.
            do { try await holds.hold(for: job) } catch is InvalidInput { continue }
            again.append(job)
        }
        return again.isEmpty ? 0 : try await jobs.redrive(again).count
    }

    // MARK: Export

    private func export(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: JobFilter.parameters.union(["form"]))
        let filter = try JobFilter(query)
        let form = try query.oneOf("form", ExportForm.self) ?? .job
        // Looked at before the status is sent, so that a store that is away is not a broken answer.
        let first = try await jobs.jobs(of: tenant, matching: filter, page: JobPage(limit: Self.pageSize))
        let jobs = jobs
        return .lines(pages: first, of: Self.pageSize) { last in
            try await jobs.jobs(of: tenant, matching: filter, page: JobPage(limit: Self.pageSize, after: last.id))
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
    fileprivate var submission: [UInt8] {
        guard var submitted = storedSpec else { return spec.bytes }
        submitted.schedule = nil
        submitted.scheduledAt = nil
        return submitted.json
    }
}
