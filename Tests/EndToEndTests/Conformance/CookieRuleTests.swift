import Foundation
import HTTPTypes
import TestSupport
import Testing

/// By which rules jobs keep and send cookies.
@Suite(.sharedService()) struct CookieRuleTests {
    /// The names of the cookies that a session has, in the order of names.
    private func names(_ session: String, _ rig: Rig) async throws -> [String] {
        let jar = try await rig.service.request(.get, "/v1/cookies?session=\(session)").json
        return try #require(member(jar, "data", as: [[String: Any]].self)).compactMap { $0["name"] as? String }.sorted()
    }

    // Cookies that RFC 6265bis refuses are refused, and the rest is kept.
    // Proves: COK-4, COK-11.
    @Test func `a job keeps the cookies that it may, and no others`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(
            answer(
                "200 OK", "Set-Cookie: plain=1", "set-cookie: comma=a,b; Expires=Wed, 09 Jun 2100 10:18:14 GMT",
                "Set-Cookie: other=1; Domain=other.example", "Set-Cookie: public=1; Domain=com",
                "Set-Cookie: secret=1; Secure", "Set-Cookie: __Host-h=1; Path=/", "Set-Cookie: __Secure-s=1; Secure",
                "Set-Cookie: old=1; Max-Age=0; Expires=Wed, 09 Jun 2100 10:18:14 GMT", "Set-Cookie: quoted=\"q\"",
                "Set-Cookie: long=\(String(repeating: "x", count: 4097))"))
        let session = try await rig.makeSession()
        let job = try await rig.fetch(play.url(), session: session)
        #expect(try await names(session, rig) == ["comma", "plain", "quoted"])
        let told = member(job, "response", "cookies", as: [String: Any].self)
        #expect(told?["accepted"] as? [String] == ["plain", "comma", "old", "quoted"])
        let rejected = (told?["rejected"] as? [[String: String]] ?? []).map {
            "\($0["name"] ?? "") \($0["reason"] ?? "")"
        }
        #expect(
            rejected == [
                "other domainMismatch", "public domainMismatch", "secret insecureOrigin", "__Host-h prefix",
                "__Secure-s insecureOrigin", "long tooLong",
            ])
    }

    /// The names of the cookies that a response of a job has set, each with why it was refused, or with nothing.
    private func verdicts(_ job: [String: Any]) -> [String: String] {
        let told = member(job, "response", "cookies", as: [String: Any].self) ?? [:]
        let accepted = (told["accepted"] as? [String] ?? []).map { ($0, "") }
        let rejected = (told["rejected"] as? [[String: String]] ?? []).map { ($0["name"] ?? "-", $0["reason"] ?? "-") }
        return Dictionary(accepted + rejected) { "\($0)\($1)" }
    }

    // The store has a `Secure` cookie that the plain response would overwrite.
    // Proves: COK-11.
    @Test func `what a response sets against a rule is told with the rule`() async throws {
        let rig = try SharedService.current
        let many = (0...50).map { "Set-Cookie: n\($0)=1" }.joined(separator: "\r\n")
        let play = rig.stage.play(
            answer(
                "200 OK", "Set-Cookie: control=\u{1}", "Set-Cookie: =", "Set-Cookie: nameless",
                "Set-Cookie: low=2", "Set-Cookie: address=1; Domain=127.0.0.1", "Set-Cookie: above=1; Domain=0.0.1",
                "Set-Cookie: foreign=1; Domain=b\u{FC}cher.example", "Set-Cookie: site=1; SameSite=None",
                "Set-Cookie: part=1; Partitioned", "Set-Cookie: __Secure-a=1", "Set-Cookie: __Host-b=1"),
            answer("200 OK", many), answer("200 OK", "Set-Cookie: strict=1; SameSite=Strict", "Set-Cookie: plain=1"),
            answer("200 OK", "Set-Cookie: never=1"))
        let session = try await rig.makeSession()
        let secure = #"{"name": "low", "value": "1", "domain": "127.0.0.1", "isSecure": true}"#
        let stored = try await rig.service.request(
            .post, "/v1/cookies", body: #"{"session": "\#(session)", "cookies": [\#(secure)]}"#)
        #expect(stored.status == 200, "\(stored.text)")
        let first = verdicts(try await rig.fetch(play.url(), session: session))
        #expect(
            first == [
                "control": "controlCharacter", "": "empty", "low": "overwritesSecure", "address": "",
                "above": "domainMismatch", "foreign": "domainInvalid", "site": "sameSiteNoneNotSecure",
                "part": "partitionedNotSecure", "__Secure-a": "prefix", "__Host-b": "prefix",
            ])
        #expect(try await names(session, rig) == ["", "address", "low"])
        let second = verdicts(try await rig.fetch(play.url(), session: session))
        #expect(second.count == 51 && second["n50"] == "tooMany" && second["n49"]?.isEmpty == true)
        let document = #""mainDocumentURL": "http://elsewhere.example/""#
        let policy = #""cookies": {"acceptPolicy": "onlyFromMainDocumentDomain"}"#
        let third = verdicts(try await rig.fetch(play.url(), document, configuration: policy, session: session))
        #expect(third == ["strict": "crossSite", "plain": "thirdParty"])
        let last = try await rig.fetch(
            play.url(), configuration: #""cookies": {"acceptPolicy": "never"}"#, session: session)
        #expect(verdicts(last) == ["never": "neverAccepted"])
    }

    // The proxy answers for all names.
    // Proves: COK-11.
    @Test func `what a response sets for a public suffix is refused with that reason`() async throws {
        let proxy = try WireOrigin(
            playing: answer("200 OK", "Set-Cookie: suffix=1; Domain=co.uk", "Set-Cookie: own=1; Domain=shop.co.uk"))
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(proxy.port)"]) { service in
            let job = try await service.fetch(
                "http://www.shop.co.uk/",
                more: #", "session": "default", "configuration": {"proxy": {"url": "http://127.0.0.1:\#(proxy.port)"}}"#
            )
            #expect(verdicts(job) == ["suffix": "publicSuffix", "own": ""], "\(job)")
        }
    }

    // 180 are kept of a domain. The first was sent, so that the second is the one that was unused for the longest time.
    // Proves: COK-11.
    @Test func `a full jar gives up the cookie that was least used`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer(), answer("200 OK", "Set-Cookie: new=1"))
        let session = try await rig.makeSession()
        let path = try #require(URL(string: play.url("used"))).path
        let cookies = (0..<180).map { number in
            let path = number == 0 ? path : "/elsewhere"
            return #"{"name": "c\#(number)", "value": "1", "domain": "127.0.0.1", "path": "\#(path)"}"#
        }
        let stored = try await rig.service.request(
            .post, "/v1/cookies",
            body: #"{"session": "\#(session)", "cookies": [\#(cookies.joined(separator: ","))]}"#)
        #expect(stored.status == 200, "\(stored.text)")
        for path in ["used", "new"] { _ = try await rig.fetch(play.url(path), session: session) }
        #expect(play.requests.map { $0.values("cookie") } == [["c0=1"], []])
        var kept = Set<String>()
        var cursor: String? = ""
        while let place = cursor {
            let page = try await rig.service.request(.get, "/v1/cookies?session=\(session)&limit=100\(place)").json
            let cookies = try #require(member(page, "data", as: [[String: Any]].self))
            kept.formUnion(cookies.compactMap { $0["name"] as? String })
            cursor = member(page, "nextCursor", as: String.self).map { "&cursor=\($0)" }
        }
        #expect(kept == Set((0..<180).map { "c\($0)" }).subtracting(["c1"]).union(["new"]))
    }

    // Proves: COK-2.
    @Test func `the lines of an answer are read as a job reads them, and nothing is kept`() async throws {
        let rig = try SharedService.current
        let body = #"""
            {"url": "https://shop.example/a/b", "setCookie": ["a=1; Path=/", "b=2,c=3; max-AGE=60", "deep=1; Path=/a",
             "A=4; Domain=shop.example; Secure", "x=1; Domain=other.example", "gone=1; Max-Age=0"]}
            """#
        let answer = try await rig.service.request(.post, "/v1/cookies/parse", body: body)
        #expect(answer.status == 200, "\(answer.text)")
        let cookies = member(answer.json, "cookies", as: [[String: Any]].self) ?? []
        #expect(cookies.map { $0["name"] as? String } == ["a", "b", "deep", "A", "gone"])
        #expect(cookies.map { $0["value"] as? String } == ["1", "2,c=3", "1", "4", "1"])
        #expect(member(answer.json, "rejected", "0", "reason") == "domainMismatch")
        #expect(member(answer.json, "cookie") == "b=2,c=3; deep=1; A=4; a=1")
        for wrong in [#"{"url": "ftp://a/", "setCookie": []}"#, #"{"url": "https://a.example/"}"#, "{}"] {
            #expect(try await rig.service.request(.post, "/v1/cookies/parse", body: wrong).status == 422)
        }
        let kept = try await rig.service.request(.get, "/v1/cookies?domain=shop.example").json
        #expect(member(kept, "data", as: [Any].self)?.isEmpty == true)
    }

    // By path, the longest first, and then the oldest.
    // Proves: COK-3.
    @Test func `the cookies that match are sent in their order`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.serve { number, connection in
            let cookies = ["short=1; Path=/", "elsewhere=1; Path=/no", "long=1", "later=1; Path=/"]
            try connection.send(
                number == 0 ? answer("200 OK", cookies.map { "Set-Cookie: \($0)" }.joined(separator: "\r\n")) : answer()
            )
        }
        let session = try await rig.makeSession()
        for path in ["a/set", "a/get", "ab"] { _ = try await rig.fetch(play.url(path), session: session) }
        #expect(
            play.requests.map { $0.values("cookie") } == [[], ["long=1; short=1; later=1"], ["short=1; later=1"]])
    }

    // Neither kept nor sent, one of them, or both.
    // Proves: URL-8, COK-3, COK-6, SES-12.
    @Test(arguments: [
        (#""jar": "none""#, [false, false]), (#""send": false"#, [false, true]),
        (#""acceptPolicy": "never""#, [true, false]), (#""acceptPolicy": "always""#, [true, true]),
    ])
    func `a job says whether cookies are sent and kept`(_ cookies: String, _ expected: [Bool]) async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("200 OK", "Set-Cookie: first=1"), answer("200 OK", "Set-Cookie: second=1"))
        let session = try await rig.makeSession()
        _ = try await rig.fetch(play.url(), session: session)
        _ = try await rig.fetch(play.url(), configuration: #""cookies": {\#(cookies)}"#, session: session)
        let isKept = try await names(session, rig).contains("second")
        #expect([play.requests[1].values("cookie") == ["first=1"], isKept] == expected)
    }

    // A cookie of a redirect goes on only with a jar, be it one in memory.
    // Proves: COK-4, URL-8.
    @Test(arguments: ["no session", "jar none", "ephemeral"])
    func `a cookie that a redirect sets goes on to the next hop where there is a jar, and nowhere else`(
        _ form: String
    ) async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("302 Found", "Set-Cookie: hop=1", "Location: next"), answer())
        if form == "no session" {
            _ = try await rig.service.fetch(play.url())
        } else {
            let session = try await rig.makeSession(#"{"kind": "ephemeral"}"#)
            let configuration = form == "jar none" ? #""cookies": {"jar": "none"}"# : ""
            _ = try await rig.fetch(play.url(), configuration: configuration, session: session)
        }
        #expect(play.requests[1].values("cookie") == (form == "ephemeral" ? ["hop=1"] : []))
    }

    // An address is a site of its own.
    // Proves: URL-9, COK-6, COK-7.
    @Test(arguments: [
        (nil, "onlyFromMainDocumentDomain", true), ("http://127.0.0.1/page", "onlyFromMainDocumentDomain", true),
        ("http://elsewhere.example/page", "onlyFromMainDocumentDomain", false),
        ("http://elsewhere.example/page", "always", true), ("http://127.0.0.1/page", "never", false),
    ])
    func `the main document says whose cookies are kept`(_ document: String?, _ policy: String, _ isKept: Bool)
        async throws
    {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("200 OK", "Set-Cookie: c=1"))
        let session = try await rig.makeSession(#"{"configuration": {"cookies": {"acceptPolicy": "\#(policy)"}}}"#)
        _ = try await rig.fetch(
            play.url(), document.map { #""mainDocumentURL": "\#($0)""# } ?? "", session: session)
        #expect(try await names(session, rig) == (isKept ? ["c"] : []))
    }

    // Names that everybody knows, at a proxy that answers for all of them: `co.uk` and `github.io` are public suffixes.
    // Proves: COK-7.
    @Test(arguments: [
        ("http://img.shop.co.uk/", "http://www.shop.co.uk/page", true),
        ("http://shop.co.uk/", "https://www.shop.co.uk/page", true),
        ("http://other.co.uk/", "http://www.shop.co.uk/page", false),
        ("http://a.github.io/", "http://b.github.io/", false), ("http://x.a.github.io/", "http://a.github.io/", true),
    ])
    func `whose cookies are kept is decided by the registrable domain`(
        _ url: String, _ document: String, _ isKept: Bool
    ) async throws {
        let proxy = try WireOrigin(playing: answer("200 OK", "Set-Cookie: c=1"))
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(proxy.port)"]) { service in
            let made = try await service.request(
                .post, "/v1/sessions",
                body: #"{"configuration": {"proxy": {"url": "http://127.0.0.1:\#(proxy.port)"}}}"#)
            let session = try #require(member(made.json, "id", as: String.self), "\(made.text)")
            for policy in ["onlyFromMainDocumentDomain", "always"] {
                let job = try await service.fetch(
                    url + policy, request: #", "mainDocumentURL": "\#(document)""#,
                    more: #", "session": "\#(session)", "configuration": {"cookies": {"acceptPolicy": "\#(policy)"}}"#)
                #expect(status(of: job) == 200, "\(job)")
                let jar = try await service.request(.get, "/v1/cookies?session=\(session)").json
                let count = isKept || policy == "always" ? 1 : 0
                #expect(member(jar, "data", as: [Any].self)?.count == count, "\(policy)")
            }
        }
    }

    // Proves: BEY-20.
    @Test func `what a cookie says of sites is kept with it`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(
            answer("200 OK", "Set-Cookie: lax=1; SameSite=Lax", "Set-Cookie: strict=1; SameSite=Strict"))
        let session = try await rig.makeSession()
        _ = try await rig.fetch(play.url(), session: session)
        let jar = try await rig.service.request(.get, "/v1/cookies?session=\(session)").json
        let cookies = try #require(member(jar, "data", as: [[String: Any]].self))
        let sites = Dictionary(uniqueKeysWithValues: cookies.map { ($0["name"] as? String, $0["sameSite"] as? String) })
        #expect(sites == ["lax": "lax", "strict": "strict"])
    }

    // By the registrable domain of the main document, and its scheme.
    // Proves: BEY-20.
    @Test func `a cookie that is partitioned is sent below the site that it was set for, and below no other`()
        async throws
    {
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.nginxTLS(
            try await authority.issue("good"), chain: [],
            directives: [
                #"location = /set { add_header Set-Cookie "p=1; Path=/; Secure; SameSite=None; Partitioned"; return 204; }"#,
                #"location = /get { return 200 "$http_cookie"; }"#,
            ])
        let anchors = String(decoding: authority.certificate, as: UTF8.self).replacing("\n", with: "\\n")
        try await ServiceProcess.with(allowing: [server.rule]) { service in
            let trust = #"{"serverTrust": {"policy": "custom", "anchors": "\#(anchors)"}}"#
            let made = try await service.request(.post, "/v1/sessions", body: #"{"configuration": \#(trust)}"#)
            let session = try #require(member(made.json, "id", as: String.self), "\(made.text)")
            func fetch(_ path: String, below document: String) async throws -> [String: Any] {
                try await service.fetch(
                    "https://127.0.0.1:\(server.port)\(path)", request: #", "mainDocumentURL": "\#(document)""#,
                    more: #", "session": "\#(session)", "configuration": {"cookies": {"acceptPolicy": "always"}}"#)
            }
            func sent(below document: String) async throws -> String {
                let job = try await fetch("/get", below: document)
                let id = try #require(member(job, "id", as: String.self))
                return try await service.request(.get, "/v1/jobs/\(id)/body").text
            }
            let job = try await fetch("/set", below: "https://www.top.example/page")
            #expect(member(job, "response", "cookies", "accepted", as: [String].self) == ["p"], "\(job)")
            let jar = try await service.request(.get, "/v1/cookies?session=\(session)").json
            #expect(member(jar, "data", "0", "partition") == "https://top.example", "\(jar)")
            #expect(try await sent(below: "https://top.example/") == "p=1")
            #expect(try await sent(below: "https://other.example/") == "")
            let own =
                #"{"name": "q", "value": "2", "domain": "127.0.0.1", "isSecure": true, "#
                + #""partition": "https://other.example"}"#
            let set = try await service.request(
                .post, "/v1/cookies", body: #"{"session": "\#(session)", "cookies": [\#(own)]}"#)
            #expect(set.status == 200, "\(set.text)")
            #expect(try await sent(below: "https://shop.other.example/") == "q=2")
            #expect(try await sent(below: "https://top.example/") == "p=1")
        }
    }

    // The client's own come beside those of the jar.
    // Proves: COK-12.
    @Test func `a cookie field of the job's own is not lost`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("200 OK", "Set-Cookie: jar=1"))
        let session = try await rig.makeSession()
        let own = #""headers": [{"name": "Cookie", "value": "own=1"}]"#
        for _ in 0..<2 { _ = try await rig.fetch(play.url(), own, session: session) }
        #expect(play.requests[0].values("cookie") == ["own=1"])
        let both = try #require(play.requests[1].values("cookie").first?.split(separator: "; "))
        #expect(play.requests[1].values("cookie").count == 1 && Set(both) == ["own=1", "jar=1"])
    }

    // Set, found, sent and deleted through the API; of this session alone.
    // Proves: COK-5, COK-1, COK-10.
    @Test func `cookies can be managed through the API`() async throws {
        let rig = try SharedService.current
        let (session, other) = (try await rig.makeSession(), try await rig.makeSession())
        let play = rig.stage.play(answer())
        let cookie = #"{"name": "mine", "value": "set", "domain": "127.0.0.1", "path": "/", "isHTTPOnly": true}"#
        let added = try await rig.service.request(
            .post, "/v1/cookies", body: #"{"session": "\#(session)", "cookies": [\#(cookie)]}"#)
        #expect(added.status == 200, "\(added.text)")
        let found = try await rig.service.request(.get, "/v1/cookies?session=\(session)&name=mine").json
        #expect(member(found, "data", "0", "isHTTPOnly") == true)
        for id in [session, other] { _ = try await rig.fetch(play.url(), session: id) }
        #expect(play.requests.map { $0.values("cookie") } == [["mine=set"], []])
        _ = try await rig.service.request(.delete, "/v1/cookies?session=\(session)&name=mine")
        #expect(try await names(session, rig).isEmpty)
    }
}
