import Testing

@testable import FetchEngine

@Suite struct HTTPDateTests {
    private static let now = UnixTime(seconds: 1_700_000_000)

    // The three forms of RFC 9110 §5.6.7.
    // Proves: CCH-8.
    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "sun, 6 nov 1994 08:49:37 GMT",
    ])
    func `the three forms are read`(_ text: String) {
        #expect(HTTPDate.time(text, now: Self.now) == UnixTime(seconds: 784_111_777))
    }

    @Test func `a year of two digits is at most 50 years ahead`() {
        let near = HTTPDate.time("Sunday, 06-Nov-70 08:49:37 GMT", now: Self.now)
        let far = HTTPDate.time("Sunday, 06-Nov-80 08:49:37 GMT", now: Self.now)
        #expect(near == HTTPDate.time("Sun, 06 Nov 2070 08:49:37 GMT", now: Self.now))
        #expect(far == HTTPDate.time("Sun, 06 Nov 1980 08:49:37 GMT", now: Self.now))
    }

    @Test(arguments: [
        "", "0", "-1", "now", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 31 Jun 1994 08:49:37 GMT", "Sun, 29 Feb 1993 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 99999 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT GMT", "Sun, 06 Nov 1994 ::: GMT", "784111777", "Sun, 06 Nov 94 08:49:61 GMT",
    ])
    func `what is no date is nil`(_ text: String) { #expect(HTTPDate.time(text, now: Self.now) == nil) }

    @Test func `far dates and leap days are read`() {
        #expect(HTTPDate.time("Fri, 31 Dec 9999 23:59:59 GMT", now: Self.now) == UnixTime(seconds: 253_402_300_799))
        #expect(HTTPDate.time("Thu, 29 Feb 2024 00:00:00 GMT", now: Self.now) == UnixTime(seconds: 1_709_164_800))
        #expect(HTTPDate.time("Thu, 01 Jan 1970 00:00:00 GMT", now: Self.now) == UnixTime(seconds: 0))
    }
}
