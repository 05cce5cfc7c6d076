import FetchEngine
import Testing

@Suite struct CookieJarTests {
    private static let start = UnixTime(seconds: 1_800_000_000)

    private static func second(_ number: Int) -> UnixTime { start.advanced(by: .seconds(number)) }

    /// Stores lines that came from a URL, one a second.
    private func jar(_ lines: (url: String, line: String)...) throws -> CookieJar {
        var jar = CookieJar()
        for (number, line) in lines.enumerated() { try jar.receive(line.line, from: line.url, at: Self.second(number)) }
        return jar
    }

    // Proves: COK-3, FN-37.
    @Test(arguments: [
        ("https://example.org/", "host domain"), ("http://example.org/", "host domain"),
        ("https://www.example.org/", "domain"), ("https://www.example.org/p", "path domain"),
        ("https://www.example.org/p/q", "path domain"), ("https://www.example.org/pq", "domain"),
        ("http://www.example.org/p", "domain"), ("https://a.www.example.org/p", "domain"),
        ("https://example.org:8443/", "host domain"), ("https://notexample.org/", ""), ("https://example.com/", ""),
    ])
    func `domain, host, path and Secure decide what is sent`(_ url: String, _ names: String) throws {
        let jar = try jar(
            ("https://example.org/", "host=1"), ("https://www.example.org/", "domain=1; Domain=example.org"),
            ("https://www.example.org/", "path=1; Path=/p; Secure"))
        #expect(try jar.names(for: url, at: Self.second(9)) == names)
    }

    // Proves: COK-3, FN-41.
    @Test func `longer paths come first, then the earlier set, and replacing keeps the place`() throws {
        let url = "https://example.org/a/b/c"
        var jar = try jar(
            (url, "root=1; Path=/"), (url, "deep=1; Path=/a/b"), (url, "first=1; Path=/a"), (url, "second=1; Path=/a"),
            (url, "first=2; Path=/a"))
        let cookies = jar.cookies(for: CookieContext(url: try URLRecord(url)), at: Self.second(9))
        #expect(cookies.map(\.name) == ["deep", "first", "second", "root"])
        #expect(cookies[1].value == "2")
        #expect(cookies[1].creationTime == Self.second(2))
        #expect(jar.cookies(at: Self.second(9)).map(\.name) == ["root", "deep", "first", "second"])
    }

    // Proves: COK-3, FN-38.
    @Test func `expired cookies are not sent, and one that is set expired removes the other`() throws {
        let url = "https://example.org/"
        let jar = try jar((url, "a=1; Max-Age=10"), (url, "b=1"), (url, "c=1"), (url, "c=; Max-Age=0"))
        #expect(try jar.names(for: url, at: Self.second(9)) == "a b")
        #expect(try jar.names(for: url, at: Self.second(10)) == "b")
        #expect(jar.count == 2)
    }

    // Proves: COK-5.
    @Test func `cookies of one name live beside each other by domain, host and path`() throws {
        let url = "https://example.org/a/b"
        var jar = try jar(
            (url, "a=1"), (url, "a=2; Domain=example.org"), (url, "a=3; Path=/"), (url, "a=4; Path=/a/b"))
        let sent = jar.cookies(for: CookieContext(url: try URLRecord(url)), at: Self.second(9))
        #expect(sent.map(\.value) == ["4", "1", "2", "3"])
    }

    // Proves: COK-6, URL-9, FN-29.
    @Test(
        arguments: [
            (CookieAcceptPolicy.always, CookieAcceptPolicy.always, [nil, nil, nil]),
            (.always, .onlyFromMainDocumentDomain, [nil, nil, .thirdParty]),
            (.onlyFromMainDocumentDomain, .always, [nil, nil, .thirdParty]),
            (.never, .always, [.neverAccepted, .neverAccepted, .neverAccepted]),
            (.always, .never, [.neverAccepted, .neverAccepted, .neverAccepted]),
            (.never, .onlyFromMainDocumentDomain, [.neverAccepted, .neverAccepted, .neverAccepted]),
        ] as [(CookieAcceptPolicy, CookieAcceptPolicy, [CookieRejection?])])
    func `the stricter of two policies counts`(
        _ own: CookieAcceptPolicy, _ session: CookieAcceptPolicy, _ expected: [CookieRejection?]
    ) throws {
        let documents = [nil, "http://b.example.org/", "https://example.com/"]
        let reasons = try documents.map { document in
            var jar = CookieJar(acceptPolicy: own)
            return try jar.rejection("a=1", from: "https://a.example.org/", for: document, policy: session)
        }
        #expect(reasons == expected)
    }

    // Proves: COK-7, BEY-20, FN-39.
    @Test func `SameSite cookies stay with their own site's documents`() throws {
        let url = "https://a.example.org/"
        let jar = try jar(
            (url, "strict=1; SameSite=Strict"), (url, "lax=1; SameSite=Lax"),
            (url, "none=1; SameSite=None; Secure"), (url, "unsaid=1"))
        #expect(try jar.names(for: url, at: Self.second(9)) == "strict lax none unsaid")
        #expect(
            try jar.names(for: url, document: "https://b.example.org/", at: Self.second(9)) == "strict lax none unsaid")
        #expect(try jar.names(for: url, document: "https://example.com/", at: Self.second(9)) == "none unsaid")
        #expect(try jar.names(for: url, document: "http://a.example.org/", at: Self.second(9)) == "none unsaid")
    }

    // Proves: BEY-20.
    @Test func `partitioned cookies are sent under the top-level site they were set under`() throws {
        var jar = CookieJar()
        let url = "https://widget.example/"
        for (document, value) in [("https://a.example.org/", "1"), ("https://example.com/", "2")] {
            let line = "id=\(value); Secure; Partitioned"
            try jar.receive(line, from: url, for: document, at: Self.second(0))
        }
        #expect(jar.count == 2)
        let context = CookieContext(url: try URLRecord(url), mainDocumentURL: try URLRecord("https://b.example.org/x"))
        let sent = jar.cookies(for: context, at: Self.second(9))
        #expect(sent.map(\.value) == ["1"])
        #expect(sent.first?.partition == "https://example.org")
        #expect(try jar.names(for: url, at: Self.second(9)) == "")
    }

    // Proves: COK-11.
    @Test(arguments: [
        ("a=2", "http://www.example.org/login", true),
        ("a=2; Domain=example.org", "http://www.example.org/login/x", true),
        ("a=2", "http://deep.www.example.org/login/", true), ("a=2", "http://www.example.org/other", false),
        ("b=2", "http://www.example.org/login", false), ("a=2", "http://other.example.org/login", false),
        ("a=2", "https://www.example.org/login", false),
    ])
    func `http cannot replace or shadow a Secure cookie`(
        _ line: String, _ url: String, _ isRefused: Bool
    ) throws {
        var jar = try jar(("https://www.example.org/", "a=1; Secure; Path=/login; Domain=www.example.org"))
        let line = line + "; Path=\(try URLRecord(url).path)"
        let reason = try jar.rejection(line, from: url, policy: .always)
        #expect(reason == (isRefused ? .overwritesSecure : nil))
    }

    // Proves: COK-11, SEC-33.
    @Test func `of a domain with too many the open and longest unused go first`() throws {
        var jar = CookieJar()
        let url = "https://example.org/"
        try jar.receive("secure=1; Secure", from: url, at: Self.second(0))
        try jar.receive("used=1; Path=/used", from: url, at: Self.second(1))
        for number in 0..<(CookieJar.maximumPerDomain - 2) {
            try jar.receive("c\(number)=1; Path=/other", from: url, at: Self.second(2 + number))
        }
        _ = jar.cookies(for: CookieContext(url: try URLRecord("http://example.org/used")), at: Self.second(1000))
        for number in 0..<3 { try jar.receive("new\(number)=1", from: url, at: Self.second(2000 + number)) }
        let names = Set(jar.cookies(at: Self.second(3000)).map(\.name))
        #expect(names.count == CookieJar.maximumPerDomain)
        #expect(names.isSuperset(of: ["secure", "used", "new0", "new1", "new2"]))
        #expect(names.isDisjoint(with: ["c0", "c1", "c2"]))
    }

    // Proves: COK-11.
    @Test func `expired cookies go before any other`() throws {
        var jar = CookieJar()
        let url = "https://example.org/"
        for number in 0..<CookieJar.maximumPerDomain {
            try jar.receive(number % 2 == 0 ? "c\(number)=1" : "c\(number)=1; Max-Age=5", from: url, at: Self.second(0))
        }
        try jar.receive("new=1", from: url, at: Self.second(9))
        #expect(jar.count == CookieJar.maximumPerDomain / 2 + 1)
    }

    // Proves: COK-11, SEC-33.
    @Test func `a full jar gives up a tenth, the longest unused`() throws {
        var jar = CookieJar()
        for number in 0...CookieJar.maximumCount {
            try jar.receive("a=1", from: "https://h\(number).example.org/", at: Self.second(number))
        }
        #expect(jar.count == CookieJar.maximumCount + 1 - CookieJar.maximumCount / 10)
        #expect(try jar.names(for: "https://h0.example.org/", at: Self.second(9999)) == "")
        #expect(try jar.names(for: "https://h3000.example.org/", at: Self.second(9999)) == "a")
    }

    // Proves: COK-5.
    @Test func `cookies are removed one by one, since a time, by session and all`() throws {
        let url = "https://example.org/"
        var jar = try jar((url, "a=1"), (url, "b=1; Max-Age=99"), (url, "c=1; Max-Age=99"), (url, "d=1; Max-Age=99"))
        let last = try #require(jar.cookies(at: Self.second(9)).last)
        let steps: [(inout CookieJar) -> Bool] = [
            { $0.remove(last) }, { $0.removeCookies(since: Self.second(2)) }, { $0.removeSessionCookies() },
            { $0.removeCookies() }, { $0.removeCookies() },
        ]
        var left: [String] = []
        var answers: [Bool] = []
        for step in steps {
            answers.append(step(&jar))
            left.append(jar.cookies(at: Self.second(9)).map(\.name).joined())
        }
        #expect(answers == [true, true, true, true, false])
        #expect(left == ["abc", "ab", "b", "", ""])
        #expect(jar.count == 0)
    }

    // Proves: COK-5, FN-39.
    @Test func `a program can make no cookie for a public suffix, and every other for any host`() throws {
        var jar = CookieJar()
        #expect(throws: CookieRejection.publicSuffix) { try Cookie(name: "a", value: "1", domain: ".com") }
        #expect(throws: CookieRejection.malformed) { try Cookie(name: "a=", value: "1", domain: "h") }
        #expect(throws: CookieRejection.malformed) { try Cookie(name: "a", value: "1;", domain: "h") }
        #expect(throws: CookieRejection.malformed) { try Cookie(name: "a", value: "1", domain: "h", path: "x") }
        #expect(throws: CookieRejection.domainInvalid) { try Cookie(name: "a", value: "1", domain: "h/x") }
        #expect(throws: CookieRejection.domainInvalid) { try Cookie(name: "a", value: "1", domain: "") }
        #expect(throws: CookieRejection.controlCharacter) { try Cookie(name: "a", value: "\r\n", domain: "h") }
        #expect(throws: CookieRejection.prefix) { try Cookie(name: "__Host-a", value: "1", domain: "h") }
        try jar.set(try Cookie(name: "a", value: "1", domain: "BÜCHER.example"), at: Self.second(0))
        try jar.set(try Cookie(name: "b", value: "1", domain: ".bücher.example"), at: Self.second(1))
        #expect(try jar.names(for: "http://bücher.example/", at: Self.second(9)) == "a b")
        #expect(try jar.names(for: "http://www.bücher.example/", at: Self.second(9)) == "b")
        jar.acceptPolicy = .never
        let late = try Cookie(name: "c", value: "1", domain: "h")
        #expect(throws: CookieRejection.neverAccepted) { try jar.set(late, at: Self.second(2)) }
    }
}

extension CookieJar {
    /// Takes one line as though it had come in an answer.
    mutating func receive(
        _ line: String, from url: String, for document: String? = nil, policy: CookieAcceptPolicy = .always,
        at now: UnixTime
    ) throws {
        let context = CookieContext(
            url: try URLRecord(url), mainDocumentURL: try document.map { try URLRecord($0) }, acceptPolicy: policy)
        try store(try Cookie(setCookie: Array(line.utf8), from: context, at: now), from: context, at: now)
    }

    /// Why one line is not taken.
    mutating func rejection(
        _ line: String, from url: String, for document: String? = nil, policy: CookieAcceptPolicy
    ) throws -> CookieRejection? {
        do {
            try receive(line, from: url, for: document, policy: policy, at: UnixTime(seconds: 1_800_000_000))
            return nil
        } catch let error as CookieRejection {
            return error
        }
    }

    /// The names that would be sent to a URL.
    func names(for url: String, document: String? = nil, at now: UnixTime) throws -> String {
        let context = CookieContext(url: try URLRecord(url), mainDocumentURL: try document.map { try URLRecord($0) })
        var copy = self
        return copy.cookies(for: context, at: now).map(\.name).joined(separator: " ")
    }
}
