import FetchJobs
import Testing

@Suite struct TimestampTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1_700_000_000_123_456, "2023-11-14T22:13:20.123Z"),
            (-1, "1969-12-31T23:59:59.999Z"), (-1000, "1969-12-31T23:59:59.999Z"),
            (-1_258_000, "1969-12-31T23:59:58.742Z"),
            (253_402_300_800_000_000, "10000-01-01T00:00:00.000Z"),
            (-1_000_000, "1969-12-31T23:59:59.000Z"),
        ] as [(Int64, String)])
    func `a time is written in UTC with milliseconds, before 1970 too`(microseconds: Int64, text: String) {
        #expect(Timestamp(microseconds: microseconds).description == text)
    }

    @Test(
        arguments: [
            (1_700_000_000_123_056, "2023-11-14T22:13:20.123056Z"), (-1, "1969-12-31T23:59:59.999999Z"),
            (-1000, "1969-12-31T23:59:59.999000Z"), (0, "1970-01-01T00:00:00.000000Z"),
        ] as [(Int64, String)])
    func `a time that is to come back is written to the microsecond, and read as the same`(
        microseconds: Int64, text: String
    ) {
        let time = Timestamp(microseconds: microseconds)
        #expect(time.exact == text)
        #expect(Timestamp(rfc3339: text) == time)
    }
}
