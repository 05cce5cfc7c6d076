import FetchJobs
import Testing

@Suite struct CronExpressionTests {
    private func times(_ text: String, _ zone: String, after time: String, count: Int) throws -> [String] {
        let expression = try CronExpression(text)
        let zone = try #require(TimeZone(named: zone))
        var (times, last) = ([String](), try #require(Timestamp(rfc3339: time)).seconds)
        while times.count < count, let next = expression.next(after: last, in: zone) {
            times.append(Timestamp(microseconds: next * 1_000_000).description.replacing(".000Z", with: "Z"))
            last = next
        }
        return times
    }

    @Test(arguments: [
        ("*/15 9-17 * * mon-fri", "2026-11-20T17:45:00Z", ["2026-11-23T09:00:00Z", "2026-11-23T09:15:00Z"]),
        ("0,30 8-12/2 * * *", "2026-11-20T08:30:00Z", ["2026-11-20T10:00:00Z", "2026-11-20T10:30:00Z"]),
        ("59 23 31 dec *", "2026-11-20T00:00:00Z", ["2026-12-31T23:59:00Z", "2027-12-31T23:59:00Z"]),
        ("0 0 29 2 *", "2026-01-01T00:00:00Z", ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"]),
        ("0 0 31 * *", "2026-01-31T00:00:00Z", ["2026-03-31T00:00:00Z", "2026-05-31T00:00:00Z"]),
        // Either of two days, unless one of the fields begins with an asterisk.
        ("0 0 13 * fri", "2026-11-13T00:00:00Z", ["2026-11-20T00:00:00Z", "2026-11-27T00:00:00Z"]),
        ("0 0 */2 * Mon", "2026-11-01T00:00:00Z", ["2026-11-09T00:00:00Z", "2026-11-23T00:00:00Z"]),
        ("0 0 * * 7", "2026-11-22T00:00:00Z", ["2026-11-29T00:00:00Z"]),
        ("0 0 * * 0", "2026-11-22T00:00:00Z", ["2026-11-29T00:00:00Z"]),
        ("0 0 * * FRI-SUN", "2026-11-22T00:00:00Z", ["2026-11-27T00:00:00Z", "2026-11-28T00:00:00Z"]),
        ("@daily", "2026-11-22T00:00:00Z", ["2026-11-23T00:00:00Z"]),
        ("@hourly", "2026-11-22T00:59:59Z", ["2026-11-22T01:00:00Z"]),
        ("@weekly", "2026-11-23T00:00:00Z", ["2026-11-29T00:00:00Z"]),
        ("@yearly", "2026-11-22T00:00:00Z", ["2027-01-01T00:00:00Z"]),
        ("* * * * *", "2026-11-22T00:00:00Z", ["2026-11-22T00:01:00Z", "2026-11-22T00:02:00Z"]),
    ])
    func `times follow the five fields`(text: String, after: String, expected: [String]) throws {
        #expect(try times(text, "UTC", after: after, count: expected.count) == expected)
    }

    /// In 2026 clocks change in Berlin on 29 March and 25 October at 01:00 UTC, in New York on 8 March at 07:00 UTC and
    /// on 1 November at 06:00 UTC.
    @Test(arguments: [
        // A time that the clock leaves out is that of the change.
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]),
        ("15,45 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-30T00:15:00Z"]),
        ("30 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"]),
        ("15 2 8 3 *", "America/New_York", "2026-03-01T00:00:00Z", ["2026-03-08T07:00:00Z", "2027-03-08T07:15:00Z"]),
        // One that comes twice is the first.
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", ["2026-10-26T01:30:00Z"]),
        ("15 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", ["2026-11-01T05:15:00Z", "2026-11-02T06:15:00Z"]),
        // Expressions by the hour or the minute follow elapsed time.
        (
            "*/30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z",
            ["2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:00:00Z"]
        ),
        (
            "30 * * * *", "America/New_York", "2026-11-01T04:45:00Z",
            ["2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z", "2026-11-01T07:30:00Z"]
        ),
        ("*/30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", ["2026-03-30T00:00:00Z"]),
        ("0 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"]),
        ("0 8 * * *", "Asia/Kolkata", "2026-11-22T00:00:00Z", ["2026-11-22T02:30:00Z"]),
    ])
    func `times are those of a clock on the wall, also when it is changed`(
        text: String, zone: String, after: String, expected: [String]
    ) throws {
        #expect(try times(text, zone, after: after, count: expected.count) == expected)
    }

    @Test(arguments: [
        ("* * * *", "five fields"), ("* * * * * *", "five fields"), ("", "five fields"), ("@reboot", "must be one of"),
        ("@daily 1", "must be one of"), ("60 * * * *", "\"60\" is no number from 0 to 59"),
        ("* 24 * * *", "hour"), ("* * 0 * *", "day of the month"), ("* * * 13 *", "a name such as jan"),
        ("* * * * 8", "day of the week"), ("* * L * *", "\"l\" is no number"), ("* * * * fri#2", "\"fri#2\""),
        ("* * 15W * *", "\"15w\""), ("? * * * *", "\"?\""), ("*/0 * * * *", "step"), ("*/x * * * *", "step"),
        ("5/10 * * * *", "must follow * or a range"), ("30-10 * * * *", "ends before it begins"),
        ("1,,2 * * * *", "\"\""),
        ("-1 * * * *", "\"\""), ("0 0 30 2 *", "no month has"), ("0 0 31 4,6 *", "no month has"),
    ])
    func `what is no expression is refused with the rule that it breaks`(text: String, message: String) {
        let refusal = #expect(throws: CronExpression.Refusal.self) { try CronExpression(text) }
        #expect(refusal?.message.contains(message) == true, "\(refusal?.message ?? "")")
    }
}
