import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

/// Making, reading and removing schedules.
struct ScheduleRoutes: Sendable {
    private static let path = "/v1/schedules"
    /// How many coming times a response has by default.
    static let preview = 5

    let schedules: any ScheduleStore
    let sessions: KnownSessions
    let endpoints: KnownEndpoints
    let holds: BlobPins
    let groups: any URLGroupStore

    var routes: [Route] {
        [
            Route(.post, Self.path, tenant: create),
            Route(.get, Self.path, tenant: list),
            Route(.get, "\(Self.path)/{id}", tenant: get),
            Route(.patch, "\(Self.path)/{id}", tenant: change),
            Route(.delete, "\(Self.path)/{id}", tenant: delete),
            Route(.post, "\(Self.path)/{id}/pause", tenant: { try await setPaused($0, $1, true) }),
            Route(.post, "\(Self.path)/{id}/resume", tenant: { try await setPaused($0, $1, false) }),
            Route(.post, "\(Self.path)/{id}/run", tenant: run).taking(.jobs),
        ]
    }

    // MARK: Making

    private func create(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let (json, key) = try await call.submission(upTo: JobRoutes.maximumBody)
        var spec = try await KeyReading.shared.read(json, of: tenant, ScheduleSpec.init(json:))
        try await check(&spec, tenant, by: try call.requireKey())
        let new = Schedule(tenant: tenant, spec: spec)
        guard let creation = try await schedules.create(new, key?.idempotency(for: spec)) else { throw Self.isFull }
        return try creation.response(Self.created)
    }

    static let isFull = InvalidInput(
        pointer: "",
        message: "is one schedule more than the \(Schedule.maximumCount) that a tenant may have: remove some")

    /// Refuses a job that could not be stored now, with pointers into the schedule.
    func check(_ spec: inout ScheduleSpec, _ tenant: Tenant.ID, by owner: APIKey) async throws {
        if let name = spec.urlGroup, try await groups.urlGroup(name, of: tenant) == nil {
            throw InvalidInput(pointer: "/urlGroup", message: ScheduleSpec.noURLGroup)
        }
        try await check(&spec.job, tenant, by: owner)
    }

    private func check(_ job: inout JobSpec, _ tenant: Tenant.ID, by owner: APIKey) async throws {
        do {
            if let id = job.session, try await sessions.session(id, of: tenant)?.spec.kind == .ephemeral {
                throw InvalidInput(pointer: "/session", message: "is ephemeral: a schedule outlives it")
            }
            if job.initiated == .background {
                throw InvalidInput(pointer: "/initiated", message: "is for jobs that are submitted: say discretionary")
            }
            _ = try await sessions.job(job, of: tenant, idempotency: nil)
            try await endpoints.settle(&job.webhook, asking: job.configuration.delegate, of: tenant, by: owner)
        } catch let error as InvalidInput {
            throw InvalidInput(
                error.violations.map { Violation(pointer: "/job\($0.pointer)", message: $0.message) })
        }
    }

    private static func created(_ schedule: Schedule) -> Response {
        var response = response(to: schedule, status: .created)
        response.headers[.location] = "\(path)/\(schedule.id)"
        return response
    }

    static func response(
        to schedule: Schedule, status: HTTPResponse.Status = .ok, preview: Int = preview
    ) -> Response {
        Response.json(status: status, schedule.tag) { schedule.write(&$0, preview: preview) }
    }

    // MARK: Reading and removing

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        try await .page(call, of: Self.path, id: \.id) {
            try await schedules.schedules(of: tenant, after: $0, limit: $1)
        } write: {
            $0.write(&$1)
        }
    }

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: ["preview"])
        let preview = try query.integer("preview", in: 0...100, default: Self.preview)
        return Self.response(to: try await schedule(call, tenant), preview: preview).unlessKnown(to: call)
    }

    private func delete(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        guard let id = Schedule.ID(call.parameter), try await schedules.remove(id, of: tenant) else {
            throw Self.notFound
        }
        return Response(status: .noContent)
    }

    func schedule(_ call: Call, _ tenant: Tenant.ID) async throws -> Schedule {
        guard let id = Schedule.ID(call.parameter), let schedule = try await schedules.schedule(id, of: tenant) else {
            throw Self.notFound
        }
        return schedule
    }

    private static let notFound = Problem(.notFound, "There is no schedule with this id.")
}

extension Schedule {
    /// Its entity tag, whose version changes with the settings of its client and not with its times.
    var tag: VersionTag { VersionTag(version: version) }
}
