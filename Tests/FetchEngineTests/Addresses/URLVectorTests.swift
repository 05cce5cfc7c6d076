import FetchEngine
import Foundation
import Testing

/// One case of `urltestdata.json`.
struct URLVector: Decodable, CustomTestStringConvertible {
    let input: String
    let base: String?
    let failure: Bool?
    let href: String?
    let `protocol`: String?
    let username: String?
    let password: String?
    let hostname: String?
    let port: String?
    let pathname: String?
    let search: String?
    let hash: String?

    var testDescription: String { "\(input.debugDescription) against \(base?.debugDescription ?? "nothing")" }

    /// Parses the case's input the way the URL constructor does.
    func parse() -> URLRecord? {
        guard let base else { return try? URLRecord(input) }
        return try? URLRecord(base).resolve(input)
    }

    /// The differences from the expected parts; empty when the parser agrees.
    func differences() -> [String] {
        guard let record = parse() else { return failure == true ? [] : ["refused, expected \(href ?? "")"] }
        guard failure != true else { return ["accepted as \(record), expected a failure"] }
        let pairs: [(String, String, String?)] = [
            ("href", "\(record)", href), ("protocol", record.scheme + ":", `protocol`),
            ("username", record.username, username), ("password", record.password, password),
            ("hostname", record.host ?? "", hostname), ("port", record.port.map { "\($0)" } ?? "", port),
            ("pathname", record.path, pathname), ("search", Self.prefixed("?", record.query), search),
            ("hash", Self.prefixed("#", record.fragment), hash),
        ]
        return pairs.filter { $0.2 != nil && $0.1 != $0.2 }.map { "\($0.0) is \($0.1), expected \($0.2 ?? "")" }
    }

    private static func prefixed(_ mark: String, _ part: String?) -> String {
        guard let part, !part.isEmpty else { return "" }
        return mark + part
    }
}

@Suite struct URLVectorTests {
    /// Inputs that libidn2 judges by IDNA 2008, or by DNS lengths, where the standard does not.
    static let unsupported: Set<String> = [
        "http://a.b.c.xn--pokxncvks",
        "http://10.0.0.xn--pokxncvks",
        "http://a.b.c.XN--pokxncvks",
        "http://a.b.c.Xn--pokxncvks",
        "http://10.0.0.XN--pokxncvks",
        "http://10.0.0.xN--pokxncvks",
        "ftp://%e2%98%83",
        "https://%e2%98%83",
        "file://xn--/p",
        "https://xn--/",
    ]

    static func vectors() throws -> [URLVector] {
        let url = try #require(Bundle.module.url(forResource: "Resources/url/urltestdata", withExtension: "json"))
        let entries = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [Any])
        let cases = entries.filter { $0 is [String: Any] }
        return try JSONDecoder().decode([URLVector].self, from: JSONSerialization.data(withJSONObject: cases))
    }

    // Proves: URL-11.
    @Test(arguments: try vectors().filter { !unsupported.contains($0.input) })
    func `the parser agrees with the web platform tests`(vector: URLVector) {
        #expect(vector.differences() == [])
    }

    @Test(arguments: try vectors().filter { unsupported.contains($0.input) })
    func `a case listed as unsupported still fails`(vector: URLVector) {
        #expect(vector.differences() != [])
    }
}
