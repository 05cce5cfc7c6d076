/// The submission of a schedule: the template of its jobs, and its times.
///
/// A value that exists is valid, as a ``JobSpec`` is.
package struct ScheduleSpec: Sendable, Equatable {
    /// How the service treats times that passed while no node could make their jobs.
    package enum MissedRuns: String, Sendable, CaseIterable {
        /// Nothing, once they are later than ``ScheduleSpec/tolerance``.
        case skip
        /// One job, for the last of them.
        case runOnce
        /// A job for each, up to ``ScheduleSpec/maximumMissedRuns``.
        case runAll
    }

    /// How the service treats a time at which the last job is not final.
    package enum Overlap: String, Sendable, CaseIterable {
        case allow
        case skip
    }

    /// How late a job may be made that is not to be missed.
    package static let tolerance = Duration.seconds(30)
    /// The most jobs that are made for missed times; of more times that passed, the last ones count.
    package static let maximumMissedRuns = 100

    /// The URL of the template of a schedule to a URL group (RFC 2606: it is no host's).
    package static let urlOfGroups = "http://url-group.invalid/"
    /// How many bytes a template may have: it is read at each time of the schedule, and stored once for each missed time
    /// or URL.
    package static let maximumTemplate = 131_072
    /// About how many bytes of jobs are made at once of times that passed.
    private static let maximumBytesAtOnce = 1 << 20
    package static let noURLGroup = "is not a URL group of yours"

    package let recurrence: Recurrence
    /// A job is made for each URL of the URL group with this name, in place of that of ``job``; nil for one job.
    package let urlGroup: String?
    /// The template of its jobs.
    package var job: JobSpec
    package let missedRuns: MissedRuns
    package let overlap: Overlap
    /// No time before it; intervals are counted from it.
    package let startsAt: Timestamp?
    /// No time from then on.
    package let endsAt: Timestamp?
    /// The client's own words about the schedule.
    package let labels: [JobSpec.Label]
}

extension ScheduleSpec {
    private static let names: Set = [
        "cron", "timeZone", "interval", "urlGroup", "job", "missedRuns", "overlap", "startsAt", "endsAt", "labels",
    ]

    /// Reads and checks a schedule of a client.
    ///
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package init(json: JSONValue) throws(InvalidInput) {
        try self.init(json, readingJob: { value throws(InvalidInput) in try JobSpec(json: value) })
        // With its secrets, which are not in what is stored.
        if job.json(.open).count > Self.maximumTemplate {
            throw InvalidInput(
                pointer: "/job",
                message: "has more than \(Self.maximumTemplate) bytes, which is what the job of a schedule may have")
        }
    }

    /// Reads what ``write(_:)`` wrote.
    ///
    /// - Parameter secrets: The secrets of its job, which were sealed apart; nil for none.
    package init(stored json: JSONValue, secrets: [UInt8]?) throws {
        try self.init(json, readingJob: { value throws(InvalidInput) in try JobSpec(stored: value) })
        if let secrets { try job.restore(secretBytes: secrets) }
    }

    private init(
        _ json: JSONValue, readingJob: (JSONValue) throws(InvalidInput) -> JobSpec
    ) throws(InvalidInput) {
        let check = InputCheck()
        guard let object = JSONReader(json, check: check).object(of: Self.names) else {
            throw InvalidInput(check.violations)
        }
        let recurrence = Self.recurrence(object)
        let job = object.required("job").flatMap { Self.template($0, readingJob) }
        urlGroup = object["urlGroup"]?.string(maximumLength: URLGroup.maximumName)
        missedRuns = object["missedRuns"]?.oneOf(MissedRuns.self) ?? .runOnce
        overlap = object["overlap"]?.oneOf(Overlap.self) ?? .allow
        startsAt = object["startsAt"]?.timestamp()
        endsAt = object["endsAt"]?.timestamp()
        labels = object["labels"].map { JobSpec.labels($0) } ?? []
        if let startsAt, let endsAt, endsAt <= startsAt { check.refuse("/endsAt", "must be after startsAt") }
        if labels.count > JobSpec.maximumLabels {
            check.refuse("/labels", "has more than \(JobSpec.maximumLabels) labels")
        }
        if urlGroup != nil { Self.checkForGroup(job, missedRuns, overlap, check) }
        try check.finish()
        guard let recurrence, let job else { throw InvalidInput(pointer: "", message: "is not a schedule") }
        self.recurrence = recurrence
        self.job = job
    }

    /// Whether many jobs can be made at once.
    private static func checkForGroup(
        _ job: JobSpec?, _ missedRuns: MissedRuns, _ overlap: Overlap, _ check: InputCheck
    ) {
        if missedRuns == .runAll { check.refuse("/missedRuns", "cannot be runAll beside urlGroup") }
        if overlap == .skip { check.refuse("/overlap", "cannot be skip beside urlGroup: there is no single last job") }
        guard let job else { return }
        if "\(job.request.url)" != urlOfGroups {
            check.refuse("/job/request/url", "must be \(urlOfGroups) beside urlGroup, whose URLs take its place")
        }
    }

    /// How many jobs of times that passed are made at once.
    var maximumJobsAtOnce: Int { max(1, Self.maximumBytesAtOnce / job.json(.open).count) }

    private static func recurrence(_ object: JSONObjectReader) -> Recurrence? {
        if let cron = object["cron"] {
            object["interval"]?.refuse("cannot be there beside cron")
            let zone = object["timeZone"].map { $0.timeZone() } ?? .utc
            guard let expression = cron.cronExpression(), let zone else { return nil }
            return .cron(expression, zone)
        }
        object["timeZone"]?.refuse("is for cron: an interval is as long everywhere")
        guard let interval = object["interval"] else {
            object.check.refuse("/cron", "is required, or interval")
            return nil
        }
        return interval.integer(in: Recurrence.intervals).map { .interval($0) }
    }

    /// Members of a single job do not belong in a template, and no client is there to send its stream or its secrets.
    private static func template(
        _ reader: JSONReader, _ read: (JSONValue) throws(InvalidInput) -> JobSpec
    ) -> JobSpec? {
        let job: JobSpec
        do throws(InvalidInput) {
            job = try read(reader.value)
        } catch {
            for violation in error.violations {
                reader.check.refuse(reader.pointer + violation.pointer, violation.message)
            }
            return nil
        }
        let refusals: [(isBroken: Bool, pointer: String, message: String)] = [
            (job.delay != nil, "/delay", "is not for schedules: they say when their jobs run"),
            (job.unique != nil, "/unique", "is not for schedules: they say when their jobs run"),
            (job.delay == nil && job.runAt != nil, "/runAt", "is not for schedules: they say when their jobs run"),
            (job.expiresAt != nil, "/expiresAt", "is not for schedules: it is one time, and they have many"),
            (job.isSuspended, "/suspended", "is not for schedules; pause the schedule instead"),
            (job.group != nil, "/group", "is not for schedules: a group is closed once, and they go on"),
            (job.resumeFrom != nil, "/resumeFrom", "is not for schedules: it is good for one job"),
            (job.request.body == .stream, "/request/body", "cannot be a stream: nobody is there to send it"),
        ]
        for refusal in refusals where refusal.isBroken {
            reader.check.refuse(reader.pointer + refusal.pointer, refusal.message)
        }
        for (credential, pointer) in job.configuration.credentials {
            if case .stored = credential { continue }
            reader.check.refuse(reader.pointer + pointer, "must be the id of a credential (crd_…) in a schedule")
        }
        return job
    }

    /// Writes the members, with every default in its place but those of the job, and without secrets.
    package func write(_ writer: inout JSONWriter) { write(&writer, .redacted) }

    private func write(_ writer: inout JSONWriter, _ form: SecretForm) {
        switch recurrence {
        case .cron(let expression, let zone):
            writer.member("cron", expression.description)
            writer.member("timeZone", zone.name)
        case .interval(let interval): writer.member("interval", interval)
        }
        writer.member("urlGroup", urlGroup)
        writer.member("job", RawJSON(job.json(form)))
        writer.member("missedRuns", missedRuns.rawValue)
        writer.member("overlap", overlap.rawValue)
        writer.member("startsAt", startsAt?.description)
        writer.member("endsAt", endsAt?.description)
        if !labels.isEmpty { writer.member("labels", object: { JobSpec.write(labels, &$0) }) }
    }

    package var json: [UInt8] { JSONWriter.object(write) }

    /// The same with its secrets, for changes to be merged into; ``init(json:)`` reads it back.
    package var openJSON: [UInt8] { JSONWriter.object { write(&$0, .open) } }
}
