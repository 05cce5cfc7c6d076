import Foundation
import Testing

@testable import FetchEngine

/// One check of the Public Suffix List's own test: a name and its registrable domain.
struct PublicSuffixVector: CustomTestStringConvertible {
    let name: String
    let expected: String?

    var testDescription: String { name }

    /// The checks that name something; lines that begin with slashes are comments.
    static func all() throws -> [PublicSuffixVector] {
        let url = try #require(Bundle.module.url(forResource: "Resources/psl/test_psl", withExtension: "txt"))
        return try String(contentsOf: url, encoding: .utf8).split(separator: "\n").compactMap { line in
            guard line.hasPrefix("checkPublicSuffix('") else { return nil }
            let parts = line.split(separator: "'", omittingEmptySubsequences: false)
            return PublicSuffixVector(name: String(parts[1]), expected: parts.count > 3 ? String(parts[3]) : nil)
        }
    }

    /// A name as hosts have it: in lower-case ASCII; `nil` when it is none.
    static func host(_ name: String) -> String? { (try? URLRecord("http://\(name)/"))?.host }
}

@Suite struct PublicSuffixTests {
    // Proves: COK-7, SEC-33.
    @Test(arguments: try PublicSuffixVector.all())
    func `registrable domains are those of the list`(vector: PublicSuffixVector) throws {
        // A name that begins with a dot is none; it has no registrable domain in the list's test either.
        guard !vector.name.hasPrefix(".") else { return #expect(vector.expected == nil) }
        let host = try #require(PublicSuffixVector.host(vector.name))
        let expected = vector.expected.flatMap(PublicSuffixVector.host)
        #expect(PublicSuffixes.registrableDomain(of: host) == expected)
    }

    // Proves: COK-7.
    @Test(
        arguments: [
            ("https://a.example.org/", "https://b.example.org:444/", true),
            ("https://a.example.org/", "http://a.example.org/", false),
            ("https://a.co.uk/", "https://b.co.uk/", false),
            ("http://127.0.0.1/", "http://127.0.0.1:8080/", true),
            ("http://127.0.0.1/", "http://1.0.0.1/", false),
            ("http://[::1]/", "http://[::1]/x", true),
            ("http://localhost/", "http://localhost:81/", true),
            ("http://localhost/", "http://other/", false),
        ])
    func `sites are schemes and registrable domains, or hosts where there is none`(
        _ left: String, _ right: String, _ isSame: Bool
    ) throws {
        #expect((Site(try URLRecord(left)) == Site(try URLRecord(right))) == isSame)
    }
}
