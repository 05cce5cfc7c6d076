import FetchEngine
import Foundation
import HTTPTypes
import Testing

/// One case of the http-state working group: a response's fields, and the cookies of the next request.
struct CookieVector: CustomTestStringConvertible {
    let name: String
    let fields: HTTPFields
    let expected: String

    var testDescription: String { name }

    init(_ url: URL) throws {
        name = String(url.lastPathComponent.dropLast("-test".count))
        var fields = HTTPFields()
        for line in try Data(contentsOf: url).split(separator: 0x0A) {
            let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            let name = try #require(HTTPField.Name(String(decoding: parts[0], as: UTF8.self)))
            fields.append(HTTPField(name: name, value: Array(parts[1])))
        }
        self.fields = fields
        let answer = url.deletingLastPathComponent().appending(path: name + "-expected")
        let line = try String(contentsOf: answer, encoding: .utf8).prefix { $0 != "\n" }
        expected = line.hasPrefix("Cookie: ") ? String(line.dropFirst(8)) : ""
    }

    static func all() throws -> [CookieVector] {
        let folder = try #require(Bundle.module.url(forResource: "Resources/http-state/parser", withExtension: nil))
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.lastPathComponent.hasSuffix("-test") }.sorted { $0.path < $1.path }.map(CookieVector.init)
    }

    /// The `Cookie` field that a jar sends next after the response.
    func sent() throws -> String {
        let first = try URLRecord("http://home.example.org:8888/cookie-parser?\(name)")
        let next = try first.resolve(fields[.location] ?? "/cookie-parser-result?\(name)")
        let now = UnixTime(seconds: 1_270_000_000)
        var jar = CookieJar()
        for cookie in Cookie.cookies(withResponseHeaderFields: fields, for: first, at: now) {
            try jar.store(cookie, from: CookieContext(url: first), at: now)
        }
        let cookies = jar.cookies(for: CookieContext(url: next), at: now)
        return Cookie.requestHeaderFields(with: cookies)[.cookie] ?? ""
    }
}

@Suite struct CookieVectorTests {
    /// Results that RFC 6265bis has changed since: a pair without a name is a cookie, and an empty `Domain` counts.
    static let changed: [String: String] = [
        "0004": "foo", "0021": "a=b; x; c=d", "0023": "foo", "0024": "foo", "0025": "foo", "0026": "foo",
        "0027": "bar", "0028": "foo", "name0017": "a=bar", "name0023": "foo", "name0025": "==a=bar", "name0028": "a",
        "name0031": "\"foo", "name0032": "\"foo\\\"bar", "name0033": "aaa", "chromium0009": "BLAHHH",
        "chromium0010": "\"BLA\\\"HHH\"", "chromium0012": "ABC", "mozilla0012": "test=\"fubar! = foo; five",
        "mozilla0014": "six", "mozilla0015": "seven", "mozilla0016": "eight", "mozilla0017": "eight; test=six",
        "optional-domain0042": "foo=bar",
    ]

    // Proves: COK-2, COK-3, COK-11, SEC-33.
    @Test(arguments: try CookieVector.all())
    func `a jar agrees with the http-state vectors`(vector: CookieVector) throws {
        #expect(try vector.sent() == Self.changed[vector.name] ?? vector.expected)
    }

    @Test func `every case that RFC 6265bis has changed differs from the old expectation`() throws {
        let vectors = try CookieVector.all()
        #expect(vectors.count == 218)
        #expect(vectors.filter { Self.changed[$0.name] == $0.expected }.map(\.name) == [])
        #expect(Set(vectors.map(\.name)).isSuperset(of: Self.changed.keys))
    }
}
