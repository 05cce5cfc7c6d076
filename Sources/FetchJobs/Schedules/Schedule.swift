/// A schedule as it stands.
package struct Schedule: Sendable {
    package enum Kind: IdentifierKind {
        package static let prefix = "sch"
    }

    package typealias ID = Identifier<Kind>

    /// Why a job was not made.
    package struct Failure: Sendable, Equatable {
        package let at: Timestamp
        package let message: String

        package init(at: Timestamp, message: String) {
            self.at = at
            self.message = message
        }
    }

    /// How many a tenant may have: each look of a node at those that are due numbers all of them.
    package static let maximumCount = 1000

    package let id: ID
    package let tenant: Tenant.ID
    package var spec: ScheduleSpec
    package let createdAt: Timestamp
    /// Raised by every change that a client makes.
    package var version: Int32 = 1
    /// Since when its client holds it.
    package var pausedAt: Timestamp?
    /// When the next job will be made; nil when none will be.
    package var nextRunAt: Timestamp?
    /// The time that the last job was made for.
    package var lastRunAt: Timestamp?
    package var lastJob: Job.ID?
    /// Why the last job was not made; nil when it was.
    package var lastError: Failure?
    /// How many jobs were made.
    package var runs: Int64 = 0

    package init(id: ID = ID(), tenant: Tenant.ID, spec: ScheduleSpec, createdAt: Timestamp = .now) {
        self.id = id
        self.tenant = tenant
        self.spec = spec
        self.createdAt = createdAt
        nextRunAt = next(after: createdAt)
    }

    /// Its first time after another one; nil when it has none.
    package func next(after time: Timestamp) -> Timestamp? {
        let time = spec.startsAt.map { max(time, $0.advanced(by: .microseconds(-1))) } ?? time
        // Times are whole seconds.
        let start = spec.startsAt?.advanced(by: .microseconds(999_999)) ?? createdAt
        let next = spec.recurrence.next(after: time, countedFrom: start.wholeSecond)
        guard let next, spec.endsAt.map({ next < $0 }) ?? true else { return nil }
        return next
    }

    /// Its first times after another one.
    package func times(after time: Timestamp, maximum: Int) -> [Timestamp] {
        let all = sequence(state: time) { time -> Timestamp? in
            guard let next = next(after: time) else { return nil }
            time = next
            return next
        }
        return Array(all.prefix(maximum))
    }

    /// Changes its spec; its next time is then in the future, unless the schedule is paused.
    package mutating func change(to spec: ScheduleSpec, at time: Timestamp) {
        self.spec = spec
        nextRunAt = pausedAt == nil ? next(after: time) : nil
    }

    /// Holds it or lets it go on; times that pass meanwhile are not missed but never were.
    package mutating func setPaused(_ isPaused: Bool, at time: Timestamp) {
        guard isPaused != (pausedAt != nil) else { return }
        pausedAt = isPaused ? time : nil
        nextRunAt = isPaused ? nil : next(after: time)
    }

    /// A new job for one of its times; nil for one that its client wants besides those.
    ///
    /// - Parameter trace: The trace that it is in; nil for none.
    package func job(at time: Timestamp?, in trace: TraceContext? = nil) -> NewJob {
        var job = spec.job
        job.trace = trace
        job.schedule = id
        job.scheduledAt = time
        return NewJob(tenant: tenant, spec: job)
    }

    /// - Parameter preview: How many of the times to come are written.
    package func write(_ writer: inout JSONWriter, preview: Int = 0) {
        writer.member("id", id.description)
        writer.member("state", (pausedAt != nil ? ScheduleState.paused : nextRunAt == nil ? .ended : .active).rawValue)
        spec.write(&writer)
        writer.member("createdAt", createdAt.description)
        writer.member("pausedAt", pausedAt?.description)
        writer.member("nextRunAt", nextRunAt?.description)
        writer.member("lastRunAt", lastRunAt?.description)
        writer.member("lastJob", lastJob?.description)
        writer.member("runs", runs)
        if let lastError {
            writer.member(
                "lastError",
                object: { writer in
                    writer.member("at", lastError.at.description)
                    writer.member("message", lastError.message)
                }
            )
        }
        guard preview > 0 else { return }
        let first = nextRunAt.map { [$0] } ?? []
        let times = first + (first.last.map { self.times(after: $0, maximum: preview - 1) } ?? [])
        writer.member("nextRuns", array: { writer in times.forEach { writer.value($0.description) } })
    }
}

/// The state of a schedule.
package enum ScheduleState: String, Sendable, CaseIterable {
    /// Jobs are to come.
    case active
    /// Its client holds it.
    case paused
    /// No time is left.
    case ended
}

/// Which times of a schedule are to have a job now, and how it goes on.
package struct DueRuns: Sendable, Equatable {
    /// In their order.
    package let times: [Timestamp]
    /// The next look, which is due already when not all jobs that were missed are made at once; nil when no time is
    /// left.
    package let next: Timestamp?

    /// - Parameters:
    ///   - isBusy: The job that was made last is not final.
    ///   - now: The schedule's next time has come by then.
    package init(of schedule: Schedule, isBusy: Bool, now: Timestamp) {
        let due = Self.due(schedule, now)
        var later: Timestamp?
        switch schedule.spec.overlap {
        case .skip where isBusy: times = []
        // Of several at once all but one would overlap.
        case .skip: times = due.suffix(1)
        case .allow where due.count > 1:
            times = Array(due.prefix(schedule.spec.maximumJobsAtOnce))
            later = due.dropFirst(times.count).first
        case .allow: times = due
        }
        next = later ?? schedule.next(after: now)
    }

    private static func due(_ schedule: Schedule, _ now: Timestamp) -> [Timestamp] {
        switch schedule.spec.missedRuns {
        case .skip:
            let latest = passed(of: schedule, now, maximum: 1)
            return latest.filter { $0 >= now.advanced(by: .zero - ScheduleSpec.tolerance) }
        case .runOnce: return passed(of: schedule, now, maximum: 1)
        case .runAll: return passed(of: schedule, now, maximum: ScheduleSpec.maximumMissedRuns)
        }
    }

    /// The last of the times that have passed since the last look.
    private static func passed(of schedule: Schedule, _ now: Timestamp, maximum: Int) -> [Timestamp] {
        guard let first = schedule.nextRunAt, first <= now else { return [] }
        // Backwards in growing steps, so that years of seconds are not counted one by one.
        var span = Duration.seconds(3600)
        while true {
            let start = max(first, now.advanced(by: .zero - span))
            var times = start == first ? [first] : []
            var time = start
            while let next = schedule.next(after: time), next <= now {
                times.append(next)
                time = next
            }
            if times.count >= maximum || start == first { return times.suffix(maximum) }
            span *= 4
        }
    }
}
