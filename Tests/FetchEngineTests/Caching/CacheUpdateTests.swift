import HTTPTypes
import Testing

@testable import FetchEngine

@Suite struct CacheUpdateTests {
    // RFC 9111 §3.2, §4.3.4.
    // Proves: CCH-7.
    @Test func `a 304 replaces the fields it has and keeps those that describe the body`() throws {
        let entry = try CacheEntry.make(
            .make(
                200, "Date: \(Dates.aYearAgo)", "Age: 99", "ETag: \"a\"", "Content-Type: text/plain",
                "Content-Length: 4", "Content-Encoding: gzip", "X-Old: 1", "X-Both: 1", "X-Both: 2"))
        let refreshed = entry.refreshed(
            by: try .make(
                304, "Date: \(Dates.now)", "Content-Type: text/html", "Content-Length: 0", "Content-Encoding: br",
                "Cache-Control: max-age=60", "X-Both: 3", "X-Both: 4", "Connection: X-Hop", "X-Hop: 1"),
            sentAt: sendingTime, receivedAt: sendingTime)
        let fields = refreshed.response.headerFields
        #expect(fields[.contentType] == "text/plain")
        #expect(fields[.contentLength] == "4")
        #expect(fields[.contentEncoding] == "gzip")
        #expect(fields[.eTag] == "\"a\"")
        #expect(fields[values: HTTPField.Name("X-Both")!] == ["3", "4"])
        #expect(fields[values: HTTPField.Name("X-Old")!] == ["1"])
        #expect(fields[.date] == Dates.now)
        #expect(fields[.age] == nil)
        #expect(!fields.contains(.connection) && !fields.contains(HTTPField.Name("X-Hop")!))
        #expect(refreshed.response.status == .ok)
        #expect(refreshed.id != entry.id)
        #expect(refreshed.freshness.age(at: sendingTime) == .zero)
        #expect(refreshed.freshness.lifetime(CachingConfiguration()) == .seconds(60))
    }

    // RFC 9111 §4.3.4.
    // Proves: CCH-7.
    @Test(arguments: [
        ("\"a\"", nil, true), ("\"a\"", "\"a\"", true), ("W/\"a\"", "\"a\"", true), ("\"a\"", "W/\"a\"", true),
        ("\"a\"", "\"b\"", false), (nil, "\"b\"", false), (nil, nil, true),
    ])
    func `a 304 with another entity tag does not speak of the entry`(
        _ stored: String?, _ confirmed: String?, _ isConfirmed: Bool
    ) throws {
        func fields(_ tag: String?) -> HTTPFields { HTTPFields(lines: tag.map { ["ETag: \($0)"] } ?? []) }
        let entry = try CacheEntry.make(try Response.make(200).with(fields(stored)))
        #expect(entry.isConfirmed(by: try Response.make(304).with(fields(confirmed))) == isConfirmed)
    }

    // RFC 9111 §4.3.1.
    // Proves: CCH-8.
    @Test func `a request is made conditional with both validators`() throws {
        let both = try CacheEntry.make(.make(200, "ETag: W/\"a\"", "Last-Modified: \(Dates.tenDaysAgo)"))
        #expect(
            both.preconditions == [
                HTTPField(name: .ifNoneMatch, value: "W/\"a\""),
                HTTPField(name: .ifModifiedSince, value: Dates.tenDaysAgo),
            ])
        #expect(try CacheEntry.make(.make(200)).preconditions == nil)
        #expect(try CacheEntry.make(.make(200, "ETag: \"a\"")).preconditions?.count == 1)
    }
}
