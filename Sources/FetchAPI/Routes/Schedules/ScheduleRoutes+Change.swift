import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

extension ScheduleRoutes {
    func change(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        try call.requireContent("application/merge-patch+json", "application/json")
        let body = try await call.body(upTo: JobRoutes.maximumBody)
        let patch = try JSONParser.parse(body.readableBytesView)
        guard case .object = patch else { throw InvalidInput(pointer: "", message: "must be an object") }
        return try await update(call, tenant) { schedule in
            let json = try JSONParser.parse(schedule.spec.openJSON).merging(patch)
            var spec = try await KeyReading.shared.read(json, of: tenant, ScheduleSpec.init(json:))
            try await check(&spec, tenant, by: try call.requireKey())
            schedule.change(to: spec, at: .now)
        }
    }

    func setPaused(_ call: Call, _ tenant: Tenant.ID, _ isPaused: Bool) async throws -> Response {
        _ = try call.query()
        try await call.ignoreBody(upTo: JobRoutes.maximumBody)
        return try await update(call, tenant) { $0.setPaused(isPaused, at: .now) }
    }

    /// Changes a schedule as it is now; when the client says which it has seen, only if it still is that.
    private func update(
        _ call: Call, _ tenant: Tenant.ID, _ change: (inout Schedule) async throws -> Void
    ) async throws -> Response {
        while true {
            var schedule = try await schedule(call, tenant)
            try schedule.tag.require(by: call, of: "The schedule")
            try await change(&schedule)
            // Nil when another request has changed it first; then it is read again.
            if let changed = try await schedules.update(schedule) { return Self.response(to: changed) }
        }
    }

    // MARK: Running

    func run(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        let key = try IdempotencyKey(of: call.headers)
        _ = try await call.body(upTo: JobRoutes.maximumBody)
        let (id, job, isReplayed) = try await start(
            try await schedule(call, tenant), key, in: call.trace)
        return Self.response(to: id, of: job, isReplayed: isReplayed)
    }

    /// Stores a job of a schedule besides those of its times.
    ///
    /// - Parameters:
    ///   - key: The promise of a client that two requests are one.
    ///   - trace: The trace of the request that starts it; nil for none.
    /// - Returns: The id of the job, and whether an earlier request has made it.
    func start(
        _ schedule: Schedule, _ key: IdempotencyKey?, in trace: TraceContext? = nil
    ) async throws -> (id: Job.ID, job: NewJob, isReplayed: Bool) {
        guard schedule.spec.urlGroup == nil else {
            throw Problem(.scheduleNotRunnable, "/urlGroup makes several jobs, at the times of the schedule alone")
        }
        var job = schedule.job(at: nil)
        do {
            // The key is for this schedule; its job may differ between two requests.
            let fingerprint = SHA256Digest(of: Array(schedule.id.description.utf8))
            let idempotency = key.map { Idempotency(key: $0.text, fingerprint: fingerprint) }
            var webhook = job.spec.webhook
            // What the schedule names is an endpoint already.
            try await endpoints.settle(
                &webhook, asking: job.spec.configuration.delegate, of: schedule.tenant, by: nil)
            job = try await sessions.job(
                job.spec, of: schedule.tenant, idempotency: idempotency, in: trace)
            try await holds.hold(for: job)
        } catch let error as InvalidInput {
            throw Problem(.scheduleNotRunnable, error.violations.first.map { "/job\($0.pointer) \($0.message)" })
        }
        switch try await schedules.run(schedule, job) {
        case .accepted(let id): return (id, job, false)
        case .replayed(let id), .duplicate(let id): return (id, job, true)
        case .conflict:
            throw Problem(parameter: "Idempotency-Key", "was used for another schedule", code: .idempotencyKeyReused)
        case .sessionInvalidated: throw Problem(.scheduleNotRunnable, "/job/session is invalidated")
        case .sessionFull: throw Problem.sessionFull
        case .noRoom(let room): throw Problem.noRoom(room)
        case .queueFull(let quota): throw Problem.queueFull(quota: quota)
        case .groupClosed: throw Problem.groupClosed
        }
    }

    private static func response(to id: Job.ID, of job: NewJob, isReplayed: Bool) -> Response {
        var response = Response.json(status: .accepted) { writer in
            writer.member("id", id.description)
            writer.member("state", job.spec.firstState.rawValue)
            writer.member("href", "/v1/jobs/\(id)")
        }
        response.headers[.location] = "/v1/jobs/\(id)"
        if isReplayed { response.headers[.idempotencyReplayed] = "true" }
        return response
    }
}
