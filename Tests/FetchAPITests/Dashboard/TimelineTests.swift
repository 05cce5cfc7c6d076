import FetchJobs
import Testing

@testable import FetchAPI

@Suite struct TimelineTests {
    private static let start = Timestamp(microseconds: 1_800_000_000_000_000)

    private static func time(_ seconds: Double) -> Timestamp { start.advanced(by: .seconds(seconds)) }

    private static func job(_ state: JobState, _ attempts: [Job.Attempt]) -> Job {
        var job = Job(
            id: Job.ID(), tenant: Tenant.ID(rawValue: 1), state: state, spec: RawJSON(Array("{}".utf8)),
            createdAt: start)
        job.attempts = attempts
        return job
    }

    private static func attempt(
        _ number: Int, _ range: ClosedRange<Double>, next: Double? = nil, metrics: String? = nil
    ) -> Job.Attempt {
        Job.Attempt(
            number: number, startedAt: time(range.lowerBound), finishedAt: time(range.upperBound), state: .failed,
            errorName: nil, nextAttemptAt: next.map(time), metrics: metrics.map { RawJSON(Array($0.utf8)) })
    }

    private static func kinds(_ timeline: Timeline) -> [String] { timeline.kinds.map(\.name) }

    @Test func `the axis begins at the submission, and shows the waits, the phases of each hop, and the next attempt`()
    {
        let metrics = #"""
            [{"url":"https://a.example/","status":302,"fetchStart":"\#(Self.time(2.1))","domainLookup":[0,0.1],
              "connect":[0.1,0.4],"secureConnection":[0.2,0.4],"request":[0.4,0.4],"response":[0.5,0.6],"duration":0.6},
             {"url":"https://b.example/","fetchStart":"\#(Self.time(2.7))","duration":0.3}]
            """#
        let job = Self.job(
            .failed, [Self.attempt(1, 2...3, next: 5, metrics: metrics), Self.attempt(2, 5.5...6)])
        let timeline = Timeline(job, MeasuredAttempt.last(10, of: job), due: Self.time(1), now: Self.time(9))
        #expect(
            timeline.rows.map(\.title) == [
                "Waiting", "1 · 302 https://a.example/", "1 · no response https://b.example/", "Waiting for attempt 2",
                "Attempt 2",
            ])
        #expect(timeline.rows.map(\.duration) == ["2.0 s", "600.0 ms", "300.0 ms", "2.5 s", "500.0 ms"])
        #expect(
            Self.kinds(timeline) == [
                "scheduled", "queue", "working", "domainLookup", "connect", "secureConnection", "request", "waiting",
                "response",
            ])
        #expect(timeline.rows[0].chart.contains("Waiting for its time 1.0 s, Waiting for a slot 1.0 s"))
        #expect(timeline.ruler.contains("⋯ 2 s</text>"))
    }

    @Test func `a wait of hours does not hide the work`() throws {
        let job = Self.job(.failed, [Self.attempt(1, 7200...7201)])
        let timeline = Timeline(job, MeasuredAttempt.last(10, of: job), due: Self.start, now: Self.time(9000))
        #expect(timeline.ruler.contains("⋯ 2 h"))
        let scale = TimeScale(work: [7200...7201], end: 7201)
        #expect(scale.place(of: 0) == 0 && scale.place(of: 7201) == 1)
        #expect(abs(scale.place(of: 7200) - 1.0 / 3) < 0.001)
        #expect(scale.ticks.contains { $0.cut == 7200 })
    }

    @Test func `a job that was tried again by hand has not waited for a slot since its end`() {
        let job = Self.job(.failed, [Self.attempt(1, 0...1), Self.attempt(2, 60...61)])
        let timeline = Timeline(job, MeasuredAttempt.last(10, of: job), due: Self.start, now: Self.time(100))
        #expect(Self.kinds(timeline) == ["ended", "working"])
    }

    @Test func `a job that runs is drawn until now`() {
        var job = Self.job(.running, [])
        job.startedAt = Self.time(1)
        let timeline = Timeline(job, MeasuredAttempt.last(10, of: job), due: Self.start, now: Self.time(4))
        #expect(timeline.rows.map(\.title) == ["Waiting", "Attempt 1"])
        #expect(timeline.rows.map(\.duration) == ["1.0 s", "3.0 s"])
        let waiting = Timeline(Self.job(.queued, []), [], due: Self.start, now: Self.time(4))
        #expect(waiting.rows.map(\.duration) == ["4.0 s"])
    }

    @Test(arguments: [0, 1e-7, 0.3, 59, 86_400, 3e9])
    func `marks lie apart and in order`(length: Double) {
        for work in [[0...length], [length / 2...length], []] {
            let ticks = TimeScale(work: work, end: length).ticks
            #expect(ticks.count <= 14)
            for (left, right) in zip(ticks, ticks.dropFirst()) { #expect(left.place < right.place) }
            #expect(ticks.allSatisfy { (0...1).contains($0.place) })
        }
    }

    @Test func `no page is so long that its drawing outgrows it`() {
        let metrics =
            "["
            + Array(repeating: #"{"url":"https://a.example/","duration":1}"#, count: 500)
            .joined(separator: ",") + "]"
        let job = Self.job(.failed, [Self.attempt(1, 0...1, metrics: metrics)])
        #expect(Timeline(job, MeasuredAttempt.last(10, of: job), due: Self.start, now: Self.time(1)).rows.count == 40)
    }
}
