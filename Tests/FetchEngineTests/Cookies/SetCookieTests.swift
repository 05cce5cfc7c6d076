import FetchEngine
import HTTPTypes
import Testing

@Suite struct SetCookieTests {
    static let now = UnixTime(seconds: 1_800_000_000)

    private func cookie(
        _ line: String, from url: String = "https://www.example.org/a/b?c", for document: String? = nil
    ) throws -> Cookie {
        let context = CookieContext(url: try URLRecord(url), mainDocumentURL: try document.map { try URLRecord($0) })
        return try Cookie(setCookie: Array(line.utf8), from: context, at: Self.now)
    }

    private func rejection(_ line: String, from url: String, for document: String? = nil) throws -> CookieRejection? {
        do {
            _ = try cookie(line, from: url, for: document)
            return nil
        } catch let error as CookieRejection {
            return error
        }
    }

    // Proves: COK-1.
    @Test func `a cookie has the common attributes as accessors`() throws {
        let cookie = try cookie(
            "id=a=b; Domain=.Example.ORG; Path=/a; Max-Age=60; Secure; HttpOnly; SameSite=lax; Unknown=1")
        #expect(cookie.name == "id")
        #expect(cookie.value == "a=b")
        #expect(cookie.domain == "example.org")
        #expect(!cookie.isHostOnly)
        #expect(cookie.path == "/a")
        #expect(cookie.expires == Self.now.advanced(by: .seconds(60)))
        #expect(cookie.isSecure)
        #expect(cookie.isHTTPOnly)
        #expect(cookie.sameSite == .lax)
        #expect(cookie.partition == nil)
        #expect(cookie.creationTime == Self.now)
        #expect(!cookie.isSessionOnly)
        #expect(cookie.isExpired(at: Self.now.advanced(by: .seconds(60))))
        #expect(!cookie.isExpired(at: Self.now.advanced(by: .seconds(59))))
    }

    // Proves: COK-1, FN-41.
    @Test func `without attributes it is for the host, the directory and the session`() throws {
        let cookie = try cookie("a=1")
        #expect(cookie.domain == "www.example.org")
        #expect(cookie.isHostOnly)
        #expect(cookie.path == "/a")
        #expect(cookie.isSessionOnly)
        #expect(!cookie.isSecure && !cookie.isHTTPOnly && cookie.sameSite == nil)
    }

    // Proves: FN-41, COK-1.
    @Test(arguments: [
        ("https://h/", "/"), ("https://h/a", "/"), ("https://h/a/", "/a"), ("https://h/a/b", "/a"),
        ("https://h/a/b/?x=/y/", "/a/b"), ("https://h//", "/"),
    ])
    func `the default path is the directory`(_ url: String, _ path: String) throws {
        #expect(try cookie("a=1", from: url).path == path)
        #expect(try cookie("a=1; Path=relative", from: url).path == path)
    }

    // Proves: COK-2, FN-38.
    @Test(arguments: [
        ("Max-Age=10", 10), ("Max-Age=0", nil), ("Max-Age=-5", nil), ("max-age=99999999999999999999", 34_560_000),
        ("Max-Age=34560001", 34_560_000), ("Expires=Fri, 31 Dec 9999 23:59:59 GMT", 34_560_000),
        ("Expires=Fri, 31 Dec 9999 23:59:59 GMT; Max-Age=7", 7), ("Max-Age=7; Expires=Thu, 1 Jan 1970 0:0:0 GMT", 7),
        ("Max-Age=7; Max-Age=8", 8), ("Max-Age=8; Max-Age=x", 8),
    ])
    func `Max-Age goes before Expires, and 400 days are the most`(_ text: String, _ seconds: Int?) throws {
        let cookie = try cookie("a=1; \(text)")
        if let seconds {
            #expect(cookie.expires == Self.now.advanced(by: .seconds(seconds)))
        } else {
            #expect(cookie.isExpired(at: Self.now))
        }
    }

    // Proves: COK-2.
    @Test(arguments: ["Max-Age=", "Max-Age=-", "Max-Age=+1", "Max-Age=1.5", "Max-Age=0x1", "Expires=never", "Expires"])
    func `an attribute that cannot be read is as though it were not there`(_ text: String) throws {
        #expect(try cookie("a=1; \(text)").isSessionOnly)
    }

    // Proves: COK-4, COK-11, FN-39, SEC-33.
    @Test(arguments: [
        ("a=\u{1}", "https://example.org/", CookieRejection.controlCharacter),
        ("a=1; Path=/\u{7F}", "https://example.org/", .controlCharacter),
        ("=", "https://example.org/", .empty), ("", "https://example.org/", .empty),
        ("a=" + String(repeating: "x", count: 4096), "https://example.org/", .tooLong),
        ("a=1", "ftp://example.org/", .notHTTP), ("a=1", "data:,", .notHTTP),
        ("a=1; Domain=éxample.org", "https://example.org/", .domainInvalid),
        ("a=1; Domain=other.org", "https://example.org/", .domainMismatch),
        ("a=1; Domain=www.example.org", "https://example.org/", .domainMismatch),
        ("a=1; Domain=ample.org", "https://example.org/", .domainMismatch),
        ("a=1; Domain=0.0.1", "https://127.0.0.1/", .domainMismatch),
        ("a=1; Domain=org", "https://example.org/", .publicSuffix),
        ("a=1; Domain=co.uk", "https://example.co.uk/", .publicSuffix),
        ("a=1; Domain=.github.io", "https://me.github.io/", .publicSuffix),
        ("a=1; Secure", "http://example.org/", .insecureOrigin),
        ("a=1; SameSite=None", "https://example.org/", .sameSiteNoneNotSecure),
        ("a=1; Partitioned", "https://example.org/", .partitionedNotSecure),
        ("__Secure-a=1", "https://example.org/", .prefix),
        ("__secure-a=1", "https://example.org/", .prefix),
        ("__Host-a=1; Secure", "https://example.org/", .prefix),
        ("__Host-a=1; Secure; Path=/x", "https://example.org/", .prefix),
        ("__Host-a=1; Secure; Path=/; Domain=example.org", "https://example.org/", .prefix),
        ("__Host-a=1; Path=/", "https://example.org/", .prefix),
        ("=__Host-a=1; Secure; Path=/", "https://example.org/", .prefix),
        ("__Secure-a; Secure", "https://example.org/", .prefix),
    ])
    func `each rule refuses for its own reason`(
        _ line: String, _ url: String, _ reason: CookieRejection
    ) throws {
        #expect(try rejection(line, from: url) == reason)
        #expect(!reason.message.isEmpty)
    }

    // Proves: COK-11, SEC-33.
    @Test(arguments: [
        ("a=1; Domain=127.0.0.1", "http://127.0.0.1/"), ("a=1; Domain=.127.0.0.1", "http://127.0.0.1/"),
        ("a=1; Domain=[::1]", "http://[::1]/"), ("a=1; Domain=localhost", "http://localhost/"),
        ("a=1; Domain=github.io", "https://github.io/"), ("a=1; Domain=", "https://example.org/"),
    ])
    func `addresses and public suffixes may have cookies for themselves alone`(
        _ line: String, _ url: String
    ) throws {
        let cookie = try cookie(line, from: url)
        #expect(cookie.isHostOnly)
        #expect(cookie.domain == (try URLRecord(url)).host)
    }

    // Proves: COK-11.
    @Test(arguments: [
        "__Secure-a=1; Secure", "__Secure-a=1; Secure; Domain=example.org", "__Host-a=1; Secure; Path=/", "a; Secure",
        "a=1; SameSite=None; Secure", "a=1; SameSite=whatever", "a=\t1", "a=" + String(repeating: "x", count: 4095),
    ])
    func `what keeps the rules is taken`(_ line: String) throws {
        #expect(try rejection(line, from: "https://www.example.org/") == nil)
    }

    // Proves: COK-7, BEY-20.
    @Test(arguments: ["Strict", "lax"])
    func `SameSite cookies are not set for another site's document`(_ value: String) throws {
        let line = "a=1; SameSite=\(value)"
        #expect(try rejection(line, from: "https://a.example.org/", for: "https://b.example.org/") == nil)
        #expect(try rejection(line, from: "https://a.example.org/", for: "http://b.example.org/") == .crossSite)
        #expect(try rejection(line, from: "https://a.example.org/", for: "https://example.com/") == .crossSite)
        #expect(try rejection("a=1", from: "https://a.example.org/", for: "https://example.com/") == nil)
    }

    // Proves: COK-2.
    @Test func `an attribute of more than 1024 bytes is ignored`() throws {
        let path = "/" + String(repeating: "x", count: 1024)
        #expect(try cookie("a=1; Path=\(path)").path == "/a")
        #expect(try cookie("a=1; Path=\(path.dropLast())").path == path.dropLast())
    }

    // Proves: COK-2.
    @Test func `bytes that are not UTF-8 are kept`() throws {
        let url = try URLRecord("https://example.org/")
        let cookie = try Cookie(setCookie: [0x61, 0xE9, 0x3D, 0xFF, 0x22], from: url)
        #expect(cookie.nameBytes == [0x61, 0xE9])
        #expect(cookie.valueBytes == [0xFF, 0x22])
        let field = Cookie.requestHeaderFields(with: [cookie])[fields: .cookie].first
        #expect(field?.withUnsafeBytesOfValue { Array($0) } == [0x61, 0xE9, 0x3D, 0xFF, 0x22])
    }

    // Proves: ERR-7.
    @Test func `any bytes are judged without harm`() throws {
        let url = try URLRecord("https://www.example.org/")
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("=;,: \t\"/.-_aZ09\u{0}\u{7F}é".utf8) + [0xFF, 0x80]
        let words = ["Domain", "Path", "Max-Age", "Expires", "SameSite", "Secure", "__Host-", "99", "1 Jan 2030 1:2:3"]
        for _ in 0..<20_000 {
            var line: [UInt8] = []
            for _ in 0..<Int.random(in: 0..<24, using: &generator) {
                line.append(alphabet.randomElement(using: &generator) ?? 0)
                if Bool.random(using: &generator) { line += (words.randomElement(using: &generator) ?? "").utf8 }
            }
            _ = try? Cookie(setCookie: line, from: url)
        }
    }

    // Proves: SEC-60.
    @Test func `the value of a cookie is in no description`() throws {
        let cookie = try cookie("id=hidden; Path=/p; Domain=example.org")
        var dumped = ""
        dump(cookie, to: &dumped)
        #expect("\(cookie)" == "id for .example.org/p")
        #expect(!"\(cookie) \(String(reflecting: cookie)) \([cookie]) \(dumped)".contains("hidden"))
        #expect(!"\(CookieVerdict.accepted(cookie))".contains("hidden"))
    }
}
