import FetchJobs
import Testing

@Suite struct ScheduleTests {
    private static let job = #""job": {"request": "https://origin.example/a"}"#

    /// One whose requests have a body of so many bytes.
    private static func job(bytes: Int, _ more: String = "") -> String {
        let body = #""body": {"text": "\#(String(repeating: "x", count: bytes))"}"#
        return #""job": {"request": {"url": "https://a.example/", "method": "POST", \#(body)\#(more)}}"#
    }

    private func schedule(
        _ more: String, job: String = job, createdAt: String = "2026-11-22T10:00:00Z"
    ) throws -> Schedule {
        let spec = try ScheduleSpec(json: JSONParser.parse("{\(job), \(more)}".utf8))
        return Schedule(tenant: Tenant.ID(rawValue: 1), spec: spec, createdAt: try time(createdAt))
    }

    private func time(_ text: String) throws -> Timestamp { try #require(Timestamp(rfc3339: text)) }

    @Test func `an interval is counted from the start, or from when the schedule was made`() throws {
        let plain = try schedule(#""interval": 90"#)
        #expect(plain.nextRunAt == (try time("2026-11-22T10:01:30Z")))
        #expect(plain.next(after: try time("2026-11-22T10:01:30Z")) == (try time("2026-11-22T10:03:00Z")))
        let started = try schedule(#""interval": 90, "startsAt": "2026-11-22T12:00:00Z""#)
        #expect(started.nextRunAt == (try time("2026-11-22T12:00:00Z")))
        let late = try schedule(#""interval": 3600, "startsAt": "2026-11-21T09:30:00Z""#)
        #expect(late.nextRunAt == (try time("2026-11-22T10:30:00Z")))
    }

    @Test func `no time is before the start, or at the end and after`() throws {
        let cron = try schedule(
            #""cron": "@hourly", "startsAt": "2026-11-22T12:00:00Z", "endsAt": "2026-11-22T14:00:00Z""#)
        #expect(
            cron.times(after: cron.createdAt, maximum: 9)
                == [try time("2026-11-22T12:00:00Z"), try time("2026-11-22T13:00:00Z")])
        #expect(try schedule(#""interval": 60, "endsAt": "2026-11-22T10:00:30Z""#).nextRunAt == nil)
    }

    // MARK: Times that have passed

    private func runs(
        _ more: String, at now: String, isBusy: Bool = false
    ) throws -> (times: [String], next: String?) {
        let runs = DueRuns(of: try schedule(#""interval": 60, \#(more)"#), isBusy: isBusy, now: try time(now))
        return (runs.times.map { String("\($0)".dropFirst(11).prefix(8)) }, runs.next.map { "\($0)" })
    }

    @Test func `a time has its job, and the schedule goes on`() throws {
        for policy in ScheduleSpec.MissedRuns.allCases {
            let runs = try runs(#""missedRuns": "\#(policy.rawValue)""#, at: "2026-11-22T10:01:02Z")
            #expect(runs.times == ["10:01:00"] && runs.next == "2026-11-22T10:02:00.000Z")
        }
    }

    // Proves: REL-16.
    @Test func `of times that were missed none, the last or all have a job, as the schedule says`() throws {
        #expect(try runs(#""missedRuns": "skip""#, at: "2026-11-22T10:04:45Z").times == [])
        #expect(try runs(#""missedRuns": "skip""#, at: "2026-11-22T10:04:15Z").times == ["10:04:00"])
        #expect(try runs(#""missedRuns": "runOnce""#, at: "2026-11-22T10:04:45Z").times == ["10:04:00"])
        let all = try runs(#""missedRuns": "runAll""#, at: "2026-11-22T10:04:45Z")
        #expect(all.times == ["10:01:00", "10:02:00", "10:03:00", "10:04:00"])
        #expect(all.next == "2026-11-22T10:05:00.000Z")
    }

    @Test func `of very many missed times the last count`() throws {
        let runs = try runs(#""missedRuns": "runAll""#, at: "2027-11-22T10:00:30Z")
        #expect(runs.times.count == ScheduleSpec.maximumMissedRuns && runs.times.last == "10:00:00")
        #expect(runs.times.first == "08:21:00")
    }

    @Test func `missed times of a large job have theirs a few at a time, and none is left out`() throws {
        var schedule = try schedule(#""interval": 60, "missedRuns": "runAll""#, job: Self.job(bytes: 100_000))
        let now = try time("2026-11-22T10:25:30Z")
        var made: [[Timestamp]] = []
        while let next = schedule.nextRunAt, next <= now {
            let runs = DueRuns(of: schedule, isBusy: false, now: now)
            made.append(runs.times)
            schedule.nextRunAt = runs.next
        }
        #expect(made.map(\.count) == [10, 10, 5])
        #expect(made.flatMap(\.self) == schedule.times(after: schedule.createdAt, maximum: 25))
        #expect(schedule.nextRunAt == (try time("2026-11-22T10:26:00Z")))
    }

    @Test func `a job that would overlap another is not made when the schedule says so`() throws {
        let skip = #""missedRuns": "runAll", "overlap": "skip""#
        #expect(try runs(skip, at: "2026-11-22T10:01:00Z", isBusy: true).times == [])
        #expect(try runs(skip, at: "2026-11-22T10:04:45Z").times == ["10:04:00"])
        #expect(try runs(#""overlap": "allow""#, at: "2026-11-22T10:01:00Z", isBusy: true).times == ["10:01:00"])
    }

    @Test func `times that pass while a schedule is paused are not missed`() throws {
        var schedule = try schedule(#""interval": 60"#)
        schedule.setPaused(true, at: try time("2026-11-22T10:00:10Z"))
        #expect(schedule.nextRunAt == nil)
        schedule.setPaused(false, at: try time("2026-11-22T10:09:10Z"))
        #expect(schedule.nextRunAt == (try time("2026-11-22T10:10:00Z")))
    }

    // MARK: Specs

    @Test func `what was written is read back as it was`() throws {
        let schedule = try schedule(
            #"""
            "cron": "30 8 * * mon-fri", "timeZone": "Europe/Berlin", "missedRuns": "runAll", "overlap": "skip",
            "startsAt": "2026-11-22T12:00:00Z", "endsAt": "2027-11-22T12:00:00Z", "labels": {"team": "a"}
            """#)
        #expect(try ScheduleSpec(json: JSONParser.parse(schedule.spec.json)) == schedule.spec)
        let job = schedule.job(at: schedule.nextRunAt).spec
        #expect(job.schedule == schedule.id && job.scheduledAt == schedule.nextRunAt)
        #expect(try JobSpec(stored: JSONParser.parse(job.json)) == job)
        let refusal = #expect(throws: InvalidInput.self) { try JobSpec(json: JSONParser.parse(job.json)) }
        #expect(refusal?.violations.map(\.pointer) == ["/schedule", "/scheduledAt"])
    }

    @Test(arguments: [("", "UTC"), ("UTC", "UTC"), ("Etc/UTC", "Etc/UTC"), ("Asia/Tokyo", "Asia/Tokyo")])
    func `a zone keeps its name`(named name: String, written: String) throws {
        let zone = name.isEmpty ? "" : #", "timeZone": "\#(name)""#
        let spec = try schedule(#""cron": "@daily"\#(zone)"#).spec
        #expect(String(decoding: spec.json, as: UTF8.self).contains(#""timeZone":"\#(written)""#))
        #expect(try ScheduleSpec(json: JSONParser.parse(spec.json)) == spec)
    }

    @Test(arguments: [
        (#"{"interval": 60}"#, "/job"), (#"{"job": {"request": "https://a.example"}}"#, "/cron"),
        (#"{"interval": 60, "cron": "@daily", JOB}"#, "/interval"), (#"{"interval": 0, JOB}"#, "/interval"),
        (#"{"interval": 1.5, JOB}"#, "/interval"), (#"{"cron": "* * * *", JOB}"#, "/cron"),
        (#"{"cron": "@daily", "timeZone": "CEST", JOB}"#, "/timeZone"),
        (#"{"cron": "@daily", "timeZone": "Europe/Nowhere", JOB}"#, "/timeZone"),
        (#"{"interval": 60, "timeZone": "Europe/Berlin", JOB}"#, "/timeZone"),
        (#"{"interval": 60, "missedRuns": "all", JOB}"#, "/missedRuns"),
        (#"{"interval": 60, "overlap": "queue", JOB}"#, "/overlap"), (#"{"interval": 60, "x": 1, JOB}"#, "/x"),
        (
            #"{"interval": 60, "startsAt": "2026-11-22T12:00:00Z", "endsAt": "2026-11-22T12:00:00Z", JOB}"#, "/endsAt"
        ),
        (#"{"interval": 60, "job": {"request": {"url": "x"}}}"#, "/job/request/url"),
        (#"{"interval": 60, "job": {"request": "https://a.example", "runAt": "2026-11-22T12:00:00Z"}}"#, "/job/runAt"),
        (
            #"{"interval": 60, "job": {"request": "https://a.example", "expiresAt": "2026-11-22T12:00:00Z"}}"#,
            "/job/expiresAt"
        ),
        (#"{"interval": 60, "job": {"request": "https://a.example", "suspended": true}}"#, "/job/suspended"),
        (
            #"{"interval": 60, "job": {"request": {"url": "https://a.example", "method": "PUT", "body": {"stream": true}}}}"#,
            "/job/request/body"
        ),
        (
            #"{"interval": 60, "job": {"request": "https://u:p@a.example/"}}"#,
            "/job/configuration/authentication/credential"
        ),
        (#"{"interval": 60, "urlGroup": "g", JOB}"#, "/job/request/url"),
        (#"{"interval": 60, "urlGroup": "g", "missedRuns": "runAll", GROUP}"#, "/missedRuns"),
        (#"{"interval": 60, "urlGroup": "g", "overlap": "skip", GROUP}"#, "/overlap"),
    ])
    func `what breaks a rule is refused where it stands`(text: String, pointer: String) throws {
        let group = #""job": {"request": "http://url-group.invalid/"}"#
        let text = text.replacing("JOB", with: Self.job).replacing("GROUP", with: group)
        let refusal = #expect(throws: InvalidInput.self) { try ScheduleSpec(json: JSONParser.parse(text.utf8)) }
        #expect(refusal?.violations.map(\.pointer) == [pointer], "\(refusal?.violations ?? [])")
    }

    @Test(arguments: ["", #", "sensitive": ["body"]"#])
    func `a job of more than 128 KiB is refused, also where its body is a secret`(_ more: String) throws {
        _ = try schedule(#""interval": 60"#, job: Self.job(bytes: 130_000, more))
        let refusal = #expect(throws: InvalidInput.self) {
            try schedule(#""interval": 60"#, job: Self.job(bytes: 131_072, more))
        }
        #expect(refusal?.violations.map(\.pointer) == ["/job"])
        #expect(refusal?.violations.first?.message.contains("131072") == true)
    }

    @Test(arguments: [
        (#"{"a": 1, "b": {"c": 1, "d": 2}}"#, #"{"b": {"c": null, "e": 3}}"#, #"{"a":1,"b":{"d":2,"e":3}}"#),
        (#"{"a": [1]}"#, #"{"a": {"b": {"c": null}}}"#, #"{"a":{"b":{}}}"#), (#"{"a": 1}"#, "[2]", "[2]"),
        (#"[1]"#, #"{"a": null, "b": "x"}"#, #"{"b":"x"}"#),
    ])
    func `a merge patch changes what it names (RFC 7396)`(value: String, patch: String, result: String) throws {
        var writer = JSONWriter()
        writer.value(try JSONParser.parse(value.utf8).merging(JSONParser.parse(patch.utf8)))
        #expect(writer.text == result)
    }
}
