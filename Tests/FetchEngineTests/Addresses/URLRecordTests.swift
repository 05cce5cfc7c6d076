import FetchEngine
import Foundation
import Testing

@Suite struct URLRecordTests {
    private let full = "https://us%20er:pa%3Ass@example.com:8443/a/b?c=d#e"

    @Test func `every part is what the text says`() throws {
        let record = try URLRecord(full)
        #expect(record.scheme == "https")
        #expect(record.username == "us%20er")
        #expect(record.password == "pa%3Ass")
        #expect(record.host == "example.com")
        #expect(record.port == 8443)
        #expect(record.path == "/a/b")
        #expect(record.query == "c=d")
        #expect(record.fragment == "e")
        #expect(record.isHTTP)
        #expect(record.description == full)
    }

    @Test func `absent parts are nil, empty ones are empty`() throws {
        let absent = try URLRecord("mailto:x")
        #expect(absent.host == nil)
        #expect(absent.query == nil)
        #expect(absent.fragment == nil)
        #expect(absent.effectivePort == nil)
        #expect(absent.hasOpaquePath)
        let empty = try URLRecord("file:///?#")
        #expect(empty.host == "")
        #expect(empty.query == "")
        #expect(empty.fragment == "")
    }

    // Proves: URL-11.
    @Test func `a default port is dropped, and still known`() throws {
        let record = try URLRecord("https://example.com:443/")
        #expect(record.port == nil)
        #expect(record.effectivePort == 443)
        #expect(record == (try URLRecord("HTTPS://EXAMPLE.com")))
    }

    @Test func `a part can be taken away`() throws {
        let record = try URLRecord(full)
        #expect(record.withoutFragment() == (try URLRecord("https://us%20er:pa%3Ass@example.com:8443/a/b?c=d")))
        let anonymous = record.withoutCredentials()
        #expect(anonymous == (try URLRecord("https://example.com:8443/a/b?c=d#e")))
        #expect(anonymous.username.isEmpty)
        #expect(anonymous.password.isEmpty)
        #expect(anonymous.path == "/a/b")
        #expect(anonymous.withoutFragment().description == "https://example.com:8443/a/b?c=d")
    }

    // Proves: SEC-60.
    @Test func `only what logs may show is in the redacted form`() throws {
        #expect(try URLRecord(full).redacted == "https://example.com:8443/a/b")
        #expect(try URLRecord("http://u@h").redacted == "http://h/")
        #expect(try URLRecord("data:,x?y#z").redacted == "data:,x")
    }

    @Test func `the origin is scheme, host and port`() throws {
        let origin = try URLRecord("http://example.com/a").origin
        #expect(origin == (try URLRecord("http://u:p@EXAMPLE.com:80/b?c").origin))
        #expect(origin != (try URLRecord("https://example.com/a").origin))
        #expect(origin != (try URLRecord("http://example.com:8080/a").origin))
        #expect(origin != (try URLRecord("http://www.example.com/a").origin))
    }

    // RFC 3986 §5.4, where the URL standard agrees with it.
    // Proves: URL-11.
    @Test(arguments: [
        ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
        ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q#s"),
        ("g#s", "http://a/b/c/g#s"), (";x", "http://a/b/c/;x"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"),
        ("..", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../../g", "http://a/g"),
        ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), ("..g", "http://a/b/c/..g"), ("./g/.", "http://a/b/c/g/"),
        ("g;x=1/../y", "http://a/b/c/y"), ("g?y/../x", "http://a/b/c/g?y/../x"),
    ])
    func `a reference resolves as RFC 3986 shows`(reference: String, expected: String) throws {
        #expect(try URLRecord("http://a/b/c/d;p?q#f").resolve(reference).description == expected)
    }

    @Test func `a failure names its rule`() {
        #expect(throws: URLRecord.Failure.self) { try URLRecord("/relative") }
        let messages = ["x", "http://", "http://a:b", "http://[1]", "http://1.2.3.400", "http://a b", "mailto:x"]
            .map { text -> String in
                do throws(URLRecord.Failure) { return try URLRecord(text).resolve("y").description } catch {
                    return error.rule
                }
            }
        #expect(
            messages == [
                "missingScheme", "hostMissing", "portInvalid", "ipv6", "ipv4", "hostInvalidCharacter", "opaqueBase",
            ])
    }

    @Test func `percent-encoding agrees with the web platform tests`() throws {
        struct Vector: Decodable {
            let input: String
            let output: [String: String]
        }
        let url = try #require(Bundle.module.url(forResource: "Resources/url/percent-encoding", withExtension: "json"))
        let entries = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [Any])
        let cases = try JSONSerialization.data(withJSONObject: entries.filter { $0 is [String: Any] })
        for vector in try JSONDecoder().decode([Vector].self, from: cases) {
            #expect(try URLRecord("https://doc/#" + vector.input).fragment == vector.output["utf-8"])
        }
    }
}
