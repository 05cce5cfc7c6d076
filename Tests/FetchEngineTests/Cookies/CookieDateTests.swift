import Foundation
import Testing

@testable import FetchEngine

/// One case of the http-state working group's date files.
struct CookieDateVector: Decodable, CustomTestStringConvertible {
    let test: String
    let expected: String?

    var testDescription: String { test.debugDescription }

    static func all() throws -> [CookieDateVector] {
        try ["examples", "bsd-examples"].flatMap { name in
            let url = try #require(
                Bundle.module.url(forResource: "Resources/http-state/dates/\(name)", withExtension: "json"))
            let lines = try String(contentsOf: url, encoding: .utf8).split(separator: "\n")
            let json = lines.filter { !$0.hasPrefix("//") }.joined(separator: "\n")
            return try JSONDecoder().decode([CookieDateVector].self, from: Data(json.utf8))
        }
    }
}

@Suite struct CookieDateTests {
    /// The date as HTTP writes it.
    private static func text(_ time: UnixTime) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: Date(timeIntervalSince1970: Double(time.seconds)))
    }

    // Proves: COK-2.
    @Test(arguments: try CookieDateVector.all())
    func `dates are read as the http-state vectors say`(vector: CookieDateVector) {
        #expect(CookieDate.parse(Array(vector.test.utf8)[...]).map(Self.text) == vector.expected)
    }

    @Test(arguments: [
        ("Thu, 29 Feb 2024 00:00:00 GMT", true), ("Thu, 29 Feb 2023 00:00:00 GMT", false),
        ("Thu, 29 Feb 1900 00:00:00 GMT", false), ("Thu, 29 Feb 2000 00:00:00 GMT", true),
        ("Thu, 31 Apr 2024 00:00:00 GMT", false), ("Thu, 0 Apr 2024 00:00:00 GMT", false),
        ("Thu, 1 Apr 1600 00:00:00 GMT", false), ("Thu, 1 Apr 1601 00:00:00 GMT", true),
        ("Thu, 1 Apr 2024 24:00:00 GMT", false), ("Thu, 1 Apr 2024 23:60:00 GMT", false),
        ("Thu, 1 Apr 2024 23:59:60 GMT", false), ("Thu, 1 Apr 2024 1:2:3 GMT", true), ("", false),
    ])
    func `only dates that the calendar has are dates`(_ text: String, _ isDate: Bool) {
        #expect((CookieDate.parse(Array(text.utf8)[...]) != nil) == isDate)
    }

    @Test func `times stop at the ends of what can be counted`() {
        #expect(UnixTime(seconds: .max).microseconds == .max)
        #expect(UnixTime(seconds: .min).microseconds == .min)
        #expect(UnixTime(microseconds: .max).advanced(by: .seconds(1)).microseconds == .max)
        #expect(UnixTime(microseconds: .min).advanced(by: .seconds(-1)).microseconds == .min)
        #expect(UnixTime(microseconds: -1).seconds == -1)
        #expect(UnixTime(microseconds: -1_000_000).seconds == -1)
        #expect(UnixTime(seconds: 5).advanced(by: .milliseconds(1500)).microseconds == 6_500_000)
    }
}
