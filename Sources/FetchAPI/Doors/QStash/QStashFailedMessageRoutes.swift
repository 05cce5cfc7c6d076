import FetchJobs
import FoundationEssentials
import HTTPTypes
import Hummingbird

/// Messages that were given up, which QStash calls its dead letter queue: jobs that failed.
///
/// A message is there under its own id. Retried, it leaves the queue and goes on under that id.
struct QStashFailedMessageRoutes: Sendable {
    private static let maximumPage = 100
    /// How many pages of jobs are looked at for the first message.
    private static let maximumPages = 10
    /// Of a response's body; what is longer is read by `/v1/jobs/{id}/body`.
    private static let maximumBody = 1 << 20

    let jobs: any JobStore
    let blobs: any BlobStore
    let retrier: JobRetrier

    var routes: [Route] {
        [
            Route(.get, "/v2/dlq", tenant: list),
            Route(.delete, "/v2/dlq", tenant: removeMany),
            Route(.get, "/v2/dlq/{id}", tenant: get),
            Route(.delete, "/v2/dlq/{id}", tenant: remove),
            Route(.post, "/v2/dlq/retry", tenant: retryMany).taking(.jobs),
            Route(.post, "/v2/dlq/retry/{id}", tenant: retry).taking(.jobs),
        ]
    }

    // MARK: Reading

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let selection = try await QStashSelection(call, ids: "dlqIds", areFailed: true)
        let limit = selection.count ?? Self.maximumPage
        guard (1...Self.maximumPage).contains(limit) else {
            throw Problem(parameter: "count", "must be a whole number from 1 to \(Self.maximumPage)")
        }
        let page = try await messages(selection, upTo: limit, of: tenant)
        return .json { writer in
            writer.member(
                "messages",
                array: { writer in
                    for job in page.messages {
                        if let spec = job.storedSpec { writer.object { Self.write(job, spec, nil, &$0) } }
                    }
                })
            writer.member("cursor", page.cursor?.description)
        }
    }

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let job = try await message(call, tenant)
        guard let spec = job.storedSpec else { throw Self.notFound }
        let body = try await body(of: job)
        return .json { Self.write(job, spec, body, &$0) }
    }

    private static func write(_ job: Job, _ spec: JobSpec, _ body: [UInt8]?, _ writer: inout JSONWriter) {
        QStashMessage.write(job, spec, &writer)
        writer.member("dlqId", job.id.description)
        writer.member("responseStatus", job.attempts.last?.status ?? 0)
        let response = job.response.flatMap { try? JSONParser.parse($0.bytes) }
        let fields = (response?.member("headers")?.elements ?? []).compactMap {
            field -> (name: String, value: String)? in
            guard let name = field.member("name")?.text, let value = field.member("value")?.text else { return nil }
            return (name, value)
        }
        writer.member("responseHeader", object: { $0.grouped(fields) })
        guard let body, !body.isEmpty else { return }
        if let text = String(validating: body, as: UTF8.self) {
            writer.member("responseBody", text)
        } else {
            writer.member("responseBodyBase64", Data(body).base64EncodedString())
        }
    }

    /// The body of the last response; nil where there is none, or a long one.
    private func body(of job: Job) async throws -> [UInt8]? {
        guard let summary = job.body, summary.bytes <= Self.maximumBody,
            let stored = try await jobs.body(of: job.id, tenant: job.tenant)
        else { return nil }
        switch stored.location {
        case .inline(let bytes): return bytes
        case .blob(let id):
            let reader = try await blobs.open(id, range: 0..<stored.bytes)
            var bytes: [UInt8] = []
            while let chunk = try await reader.next() { bytes += chunk }
            return bytes
        }
    }

    // MARK: Removing and trying again

    private func remove(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let job = try await message(call, tenant)
        guard try await jobs.remove([job.id], of: tenant).contains(job.id) else { throw Self.notFound }
        return .json { _ in }
    }

    private func removeMany(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let selection = try await QStashSelection(call, ids: "dlqIds", areFailed: true)
        let ids = try await messages(selection, upTo: Self.maximumPage, of: tenant).messages.map(\.id)
        let removed = ids.isEmpty ? [] : try await jobs.remove(ids, of: tenant)
        return .json { $0.member("deleted", removed.count) }
    }

    private func retry(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let id = try await retry(try await message(call, tenant), tenant, call)
        return .json(status: .created) { $0.member("messageId", id.description) }
    }

    private func retryMany(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let selection = try await QStashSelection(call, ids: "dlqIds", areFailed: true)
        let page = try await messages(selection, upTo: Self.maximumPage, of: tenant)
        var retried: [Job.ID] = []
        for job in page.messages { retried.append(try await retry(job, tenant, call)) }
        return .json(status: .created) { writer in
            writer.member(
                "responses",
                array: { writer in
                    for id in retried { writer.object { $0.member("messageId", id.description) } }
                })
            writer.member("cursor", page.cursor?.description)
        }
    }

    private func retry(_ job: Job, _ tenant: Tenant.ID, _ call: Call) async throws -> Job.ID {
        try await retrier.retry(job, of: tenant, with: try call.requireKey()).id
    }

    // MARK: Finding

    private func message(_ call: Call, _ tenant: Tenant.ID) async throws -> Job {
        guard let id = Job.ID(call.parameter), let job = try await jobs.job(id, of: tenant), Self.isFailed(job) else {
            throw Self.notFound
        }
        return job
    }

    private static func isFailed(_ job: Job) -> Bool {
        job.state == .failed && job.storedSpec.map(QStashMessage.isMessage) ?? false
    }

    /// The messages that are meant, the newest first, and where their list goes on.
    private func messages(
        _ selection: QStashSelection, upTo limit: Int, of tenant: Tenant.ID
    ) async throws -> (messages: [Job], cursor: Job.ID?) {
        let limit = min(selection.count ?? limit, limit)
        guard limit > 0 else { return ([], nil) }
        var ids: [Job.ID] = []
        var cursor: Job.ID?
        if let named = selection.ids {
            let sorted = Set(named).filter { id in selection.cursor.map { id < $0 } ?? true }.sorted(by: >)
            ids = Array(sorted.prefix(limit))
            if sorted.count > limit { cursor = ids.last }
        } else {
            cursor = selection.cursor
            // A page without a message does not mean that there is none.
            for _ in 0..<Self.maximumPages where ids.isEmpty {
                try Task.checkCancellation()
                let page = try await jobs.jobs(
                    of: tenant, matching: selection.filter, page: JobPage(limit: limit, after: cursor))
                (ids, cursor) = (page.map(\.id), page.rest)
                if cursor == nil { break }
            }
        }
        let found = ids.isEmpty ? [] : try await jobs.jobs([tenant: Set(ids)])
        let meant = found.filter { Self.isFailed($0) && selection.filter.matches($0) }
        return (meant.sorted { $0.id > $1.id }, cursor)
    }

    private static let notFound = Problem(.notFound, "There is no message with this id that was given up.")
}
