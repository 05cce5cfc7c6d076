package import FetchJobs
import FoundationEssentials
import HTTPTypes
import Hummingbird

/// Messages that are sent at set times: ordinary schedules, the jobs of which are messages.
struct QStashScheduleRoutes: Sendable {
    private static let maximumBody = 65_536
    /// A schedule may be large, and the list has no pages for clients.
    private static let pageSize = 8
    /// A schedule that others make, change and remove at the same time is tried so often, with pauses up to this long.
    private static let maximumTries = 20
    private static let longestPause = Duration.milliseconds(50)

    let schedules: any ScheduleStore
    /// Says whether a schedule could make its jobs.
    let rules: ScheduleRoutes
    let queues: QStashQueues
    let proxies: TrustedProxies

    var routes: [Route] {
        [
            Route(.get, "/v2/schedules", tenant: list),
            Route(.post, "/v2/schedules/{destination}", tenant: create),
            // One place for both, as QStash has it: these name a schedule there.
            Route(.get, "/v2/schedules/{destination}", tenant: get),
            Route(.delete, "/v2/schedules/{destination}", tenant: remove),
            Route(.patch, "/v2/schedules/{id}/pause", tenant: { try await setPaused(true, $0, $1) }),
            Route(.post, "/v2/schedules/{id}/pause", tenant: { try await setPaused(true, $0, $1) }),
            Route(.patch, "/v2/schedules/{id}/resume", tenant: { try await setPaused(false, $0, $1) }),
            Route(.post, "/v2/schedules/{id}/resume", tenant: { try await setPaused(false, $0, $1) }),
        ]
    }

    // MARK: Making

    private func create(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let order = try await QStashOrder(call, to: call.parameter, through: proxies)
        // The URLs of a group are those that it has when the times come.
        let target =
            switch try QStashTarget.destination(order.destination) {
            case .url(let target): target
            case .group(let name): QStashTarget(url: ScheduleSpec.urlOfGroups, group: name)
            }
        let named = order.fields["schedule-id"]
        let id = try named.map { try Self.id($0, of: tenant) } ?? Schedule.ID()
        let name = named ?? id.description
        let message = try QStashMessage(
            to: target, order.fields, body: order.body, queue: nil, caller: order.caller, schedule: name)
        var spec = try Self.spec(order.fields, message, to: target.group)
        let key = try call.requireKey()
        try await rules.check(&spec, tenant, by: key)
        try await queues.settle([message], by: key)
        try await store(Schedule(id: id, tenant: tenant, spec: spec))
        return .json(status: .created) { $0.member("scheduleId", name) }
    }

    /// The schedule that a client calls by a name of its own, or by the id that it was given.
    private static func id(_ name: String, of tenant: Tenant.ID) throws(Problem) -> Schedule.ID {
        if let id = Schedule.ID(name) { return id }
        guard (1...128).contains(name.utf8.count), name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Problem(.invalidParameter, "The id of a schedule has 1 to 128 printable characters without spaces.")
        }
        let bytes = SHA256Digest(of: Array("qstash.schedule \(tenant) \(name)".utf8)).bytes
        func half(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        return Schedule.ID(
            UUIDv7(
                high: half(bytes.prefix(8)) & ~0xF000 | 0x7000,
                low: 0x8000_0000_0000_0000 | half(bytes.dropFirst(8).prefix(8)) >> 2))
    }

    private static func spec(
        _ fields: QStashFields, _ message: QStashMessage, to group: String?
    ) throws -> ScheduleSpec {
        var cron = (fields["cron"] ?? "").trimmingWhiteSpace
        var members = [JSONMember("job", message.template ?? .null)]
        if let group { members.append(JSONMember("urlGroup", .string(group))) }
        let prefix = "CRON_TZ="
        if cron.hasPrefix(prefix) {
            let parts = cron.dropFirst(prefix.utf8.count).split(separator: " ", maxSplits: 1)
            cron = parts.count == 2 ? parts[1].trimmingWhiteSpace : ""
            members.append(JSONMember("timeZone", .string(parts.first.map(String.init) ?? "")))
        }
        members.append(JSONMember("cron", .string(cron)))
        do { return try ScheduleSpec(json: .object(members)) } catch {
            guard error.violations.contains(where: { ["/cron", "/timeZone"].contains($0.pointer) }) else { throw error }
            throw fields.refusal("cron", error.violations.first?.message ?? "is not understood")
        }
    }

    /// Makes a schedule, or puts it in the place of the one with its id.
    private func store(_ new: Schedule) async throws {
        for number in 1...Self.maximumTries {
            if var old = try await schedules.schedule(new.id, of: new.tenant) {
                guard QStashMessage.isMessage(old.spec.job) else {
                    throw Problem(.invalidParameter, "Upstash-Schedule-Id names a schedule that sends no messages")
                }
                old.change(to: new.spec, at: .now)
                // Nil when another request has changed it first.
                if try await schedules.update(old) != nil { return }
            } else {
                do {
                    guard try await schedules.create(new, nil) != nil else { throw ScheduleRoutes.isFull }
                    return
                } catch let error as StoreError where error.code == .failed && number < Self.maximumTries {
                    // Another request may have made it first, and a third one removed it since.
                }
            }
            try await Task.sleep(for: Self.longestPause * .random(in: 0...1))
        }
        throw Problem(.databaseUnavailable, "Others change the schedule at the same time.").retrying(after: 1)
    }

    // MARK: Reading and changing

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        .array(pages: try await page(of: tenant, after: nil)) { page in
            guard page.count == Self.pageSize, let last = page.last else { return nil }
            return try await self.page(of: tenant, after: last.id)
        } elements: { page in
            page.filter { QStashMessage.isMessage($0.spec.job) }.map { schedule in
                JSONWriter.object { Self.write(schedule, &$0) }
            }
        }
    }

    private func page(of tenant: Tenant.ID, after last: Schedule.ID?) async throws -> [Schedule] {
        try await schedules.schedules(of: tenant, after: last, limit: Self.pageSize)
    }

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let schedule = try await schedule(call, tenant)
        return .json { Self.write(schedule, &$0) }
    }

    private func remove(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let schedule = try await schedule(call, tenant)
        guard try await schedules.remove(schedule.id, of: tenant) else { throw Self.notFound }
        return .json { _ in }
    }

    private func setPaused(_ isPaused: Bool, _ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try await call.body(upTo: Self.maximumBody)
        while true {
            var schedule = try await schedule(call, tenant)
            schedule.setPaused(isPaused, at: .now)
            if try await schedules.update(schedule) != nil { return .json { _ in } }
        }
    }

    private func schedule(_ call: Call, _ tenant: Tenant.ID) async throws -> Schedule {
        let name = call.parameter.percentDecoded ?? call.parameter
        guard let id = try? Self.id(name, of: tenant), let schedule = try await schedules.schedule(id, of: tenant),
            QStashMessage.isMessage(schedule.spec.job)
        else { throw Self.notFound }
        return schedule
    }

    private static func write(_ schedule: Schedule, _ writer: inout JSONWriter) {
        let spec = schedule.spec.job
        writer.member("scheduleId", QStashMessage.label(QStashDoor.labelOfSchedule, of: spec))
        if case .cron(let expression, let zone) = schedule.spec.recurrence {
            let prefix = zone.name == "UTC" ? "" : "CRON_TZ=\(zone.name) "
            writer.member("cron", "\(prefix)\(expression)")
        }
        writer.member("createdAt", schedule.createdAt.microseconds / 1000)
        writer.member("destination", schedule.spec.urlGroup ?? "\(spec.request.url)")
        writer.member("retries", QStashMessage.retries(of: spec))
        writer.member("isPaused", schedule.pausedAt != nil)
        writer.member("lastScheduleTime", schedule.lastRunAt.map { $0.microseconds / 1000 })
        writer.member("nextScheduleTime", schedule.nextRunAt.map { $0.microseconds / 1000 })
        writer.member("error", schedule.lastError?.message)
        QStashMessage.writeContent(of: spec, &writer)
    }

    private static let notFound = Problem(.notFound, "There is no schedule of messages with this id.")
}

extension ScheduledJobs {
    /// Makes the jobs of schedules, of which some are messages to URL groups.
    package init(groups: any URLGroupStore) {
        self.init(groups: groups) { QStashMessage.address(&$0, to: $1) }
    }
}
