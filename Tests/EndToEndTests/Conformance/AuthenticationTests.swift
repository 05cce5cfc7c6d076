import Foundation
import HTTPTypes
import TestSupport
import Testing

/// How jobs answer the challenges of servers: Apache httpd, nginx, httpbin, and one that speaks NTLM.
@Suite(
    .enabled(if: LoopbackServer.hasApache(modules: "auth_digest", "dav")),
    .sharedService {
        [
            "bin": try await .httpbin(), "apache": try await .apache(), "nginx": try await .nginxCave(),
            "ntlm": try await .ntlm(),
        ]
    })
struct AuthenticationTests {
    /// The configuration of a job with a credential of its own.
    private func own(_ password: String = Cave.password, user: String = Cave.user, _ more: String = "") -> String {
        #""authentication": {"credential": {"user": "\#(user)", "password": "\#(password)"}\#(more)}"#
    }

    /// How many requests a job has made.
    private func transfers(_ job: [String: Any]) -> Int? {
        member(job, "attempts", "0", "metrics", as: [Any].self)?.count
    }

    // The refusal on the way is no response.
    // Proves: AUT-1, AUT-14, AUT-21, AUT-22, AUT-23.
    @Test(arguments: ["basic", "digest"])
    func `httpd lets in who has the credential`(_ area: String) async throws {
        let rig = try SharedService.current
        let job = try await rig.fetch(try rig.server("apache").url("/\(area)/page"), configuration: own())
        #expect(status(of: job) == 200 && transfers(job) == 2)
        #expect(try await rig.text(of: job) == Cave.treasure)
        #expect(member(job, "challenges", as: [Any].self)?.count == 1)
        #expect(member(job, "challenges", "0", "answer") == "useCredential")
        #expect(member(job, "challenges", "0", "previousFailureCount") == 0)
    }

    // R24: nobody to ask, or nothing asked.
    // Proves: AUT-6, AUT-20, CON-4.
    @Test func `without a credential, or a question, the refusal is the response`() async throws {
        let rig = try SharedService.current
        let refused = try await rig.fetch(try rig.server("apache").url("/basic/page"))
        #expect(status(of: refused) == 401 && transfers(refused) == 1)
        let silent = try await rig.fetch(try rig.server("nginx").url("/silent"), configuration: own())
        #expect(status(of: silent) == 401 && transfers(silent) == 1)
        #expect(try await rig.text(of: silent) == "no")
        let hidden = try await rig.fetch(try rig.bin("/hidden-basic-auth/u/p"), configuration: own("p", user: "u"))
        #expect(status(of: hidden) == 404 && transfers(hidden) == 1)
    }

    // One attempt, and then the rule of the job.
    // Proves: AUT-17, AUT-19, CRD-9, LIF-1, AUT-4, AUT-15.
    @Test func `a wrong password is tried once, and the job says what then`() async throws {
        let rig = try SharedService.current
        let url = try rig.server("nginx").url("/basic/page")
        let refused = try await rig.fetch(url, configuration: own("wrong"))
        #expect(status(of: refused) == 401 && transfers(refused) == 2)
        let cancel = #", "onFailure": "cancelAuthenticationChallenge""#
        let failed = try await rig.fetch(url, configuration: own("wrong", cancel))
        #expect(errorName(of: failed) == "userCancelledAuthentication" && transfers(failed) == 2)
        #expect(member(failed, "challenges", "1", "answer") == "cancelAuthenticationChallenge")
        #expect(member(failed, "challenges", "1", "previousFailureCount") == 1)
        let list = try await rig.followed(
            #""request": "\#(url)", "session": "\#(try await rig.makeSession())", "#
                + #""configuration": {\#(own("wrong", cancel))}"#)
        try #require(
            list.map(\.name) == ["job.started", "job.challenged", "job.challengeCancelled", "job.finished"])
        #expect(member(list[1].data, "answer") == "useCredential")
        #expect(member(list[2].data, "answer") == "cancelAuthenticationChallenge")
        #expect(member(list[2].data, "protectionSpace", "authenticationMethod") == "httpBasic")
        let thrice = try await rig.fetch(url, configuration: own("wrong", #", "maximumFailures": 3"#))
        #expect(transfers(thrice) == 2, "the same is not tried again")
    }

    // R24: a server that asks for ever is given up, and one that never names a scheme has the load's own limits.
    @Test func `a challenge comes to an end`() async throws {
        let rig = try SharedService.current
        let endless = rig.stage.serve { number, connection in
            let question = #"WWW-Authenticate: Digest realm="r", nonce="\#(number)", stale=true, qop="auth""#
            try connection.send(answer("401 No", question))
        }
        let refused = try await rig.fetch(endless.url(), configuration: own())
        #expect(status(of: refused) == 401 && endless.requests.count < 10)
        let halting = rig.stage.serve { number, connection in
            if number > 0 { try connection.receiveToEnd() }
            try connection.send(answer("401 No", "WWW-Authenticate: Basic realm=\"r\""))
        }
        let late = try await rig.fetch(
            halting.url(), configuration: own() + #", "timeouts": {"timeoutIntervalForRequest": 1}"#)
        #expect(errorName(of: late) == "timedOut" && halting.requests.count == 2)
        #expect(member(late, "challenges", "0", "answer") == "useCredential")
    }

    // The strongest first, and the next when that one is turned down.
    // Proves: AUT-16, AUT-26, AUT-8, AUT-12.
    @Test func `of the methods offered those that the job allows are answered`() async throws {
        let rig = try SharedService.current
        let offers = [
            "WWW-Authenticate: Odd a=b, Digest realm=\"d, e\", nonce=\"n\", algorithm=MD5",
            "WWW-Authenticate: Basic realm=\"b\"",
        ].joined(separator: "\r\n")
        func tried(_ more: String) async throws -> [String] {
            let play = rig.stage.serve { number, connection in
                try connection.send(answer(number < 3 ? "401 No" : "200 OK", offers))
            }
            _ = try await rig.fetch(play.url(), configuration: own("wrong", more))
            return play.requests.map { String($0.values("authorization").first?.prefix { $0 != " " } ?? "") }
        }
        #expect(try await tried("") == ["", "Digest"])
        for (methods, expected) in [("basic", ["", "Basic"]), ("digest", ["", "Digest"]), ("bearer", [""])] {
            #expect(try await tried(#", "methods": ["\#(methods)"]"#) == expected)
        }
        let next = #", "onFailure": "rejectProtectionSpace", "maximumFailures": 1"#
        #expect(try await tried(next).prefix(2) == ["", "Digest"])
    }

    // By the rule of the job: the same password twice, and each time in the words of another scheme.
    // Proves: AUT-4, AUT-16.
    @Test func `a rejected space leads to the next one, and the failures of both schemes are counted together`()
        async throws
    {
        let rig = try SharedService.current
        let play = rig.stage.serve { _, connection in
            try connection.send(
                answer(
                    "401 No", "WWW-Authenticate: Basic realm=\"b\"",
                    "WWW-Authenticate: Digest realm=\"d\", nonce=\"n\", algorithm=MD5"))
        }
        let reject = #", "onFailure": "rejectProtectionSpace", "maximumFailures": 5"#
        let job = try await rig.fetch(play.url(), configuration: own("wrong", reject))
        #expect(status(of: job) == 401)
        #expect(schemes(play) == ["", "Digest", "Basic"])
        let challenges = member(job, "challenges", as: [[String: Any]].self) ?? []
        #expect(challenges.compactMap { member($0, "previousFailureCount", as: Int.self) } == [0, 1, 2], "\(job)")
        #expect(
            challenges.prefix(2).compactMap {
                member($0, "protectionSpace", "authenticationMethod", as: String.self)
            } == ["httpDigest", "httpBasic"])
        #expect(
            challenges.compactMap { member($0, "answer", as: String.self) } == [
                "useCredential", "useCredential", "performDefaultHandling",
            ])
    }

    /// The schemes of the credentials that the requests of a play had; empty for none.
    private func schemes(_ play: Stage.Play) -> [String] {
        play.requests.map { String($0.values("authorization").first?.prefix { $0 != " " } ?? "") }
    }

    // By a delegate, who is told all that was offered: in two fields, with commas in quotes and a scheme that is unknown.
    // Proves: AUT-16, AUT-26.
    @Test func `a delegate is told what is offered, the strongest first, and may reject down to Basic`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.serve { number, connection in
            try connection.send(
                number == 0
                    ? answer(
                        "401 No", "WWW-Authenticate: Basic realm=\"b\", Odd a=\"x, Digest realm=y\", c=d",
                        "WWW-Authenticate: Digest realm=\"d, e\", nonce=\"n\", algorithm=MD5, Negotiate") : answer())
        }
        let id = try await rig.service.submit(play.url(), asking: #"["didReceiveChallenge"]"#)
        let realms: [String?] = [nil, "d, e", "b"]
        let methods = ["negotiate", "httpDigest", "httpBasic"]
        for (index, method) in methods.enumerated() {
            let question = try await rig.service.question(of: id)
            #expect(member(question, "facts", "protectionSpace", "authenticationMethod") == method, "\(question)")
            #expect(member(question, "facts", "protectionSpace", "realm") == realms[index])
            #expect(member(question, "facts", "offered") == Array(methods[index...]), "\(question)")
            #expect(member(question, "facts", "previousFailureCount") == 0)
            #expect(play.requests.count == 1)
            let word =
                method == "httpBasic"
                ? #"{"answer": "useCredential", "credential": {"user": "u", "password": "p"}}"#
                : #""rejectProtectionSpace""#
            #expect(try await rig.service.answer(question, word).status == 200)
        }
        #expect(status(of: try await rig.service.end(of: id)) == 200)
        #expect(play.requests.map { $0.values("authorization") } == [[], ["Basic dTpw"]])
    }

    // A stored credential that the job finds, one that it names, and one that it brings, which has no id.
    // Proves: AUT-3, AUT-5.
    @Test(arguments: ["found", "named", "brought"])
    func `a question tells whose credential was refused, and never the password`(_ way: String) async throws {
        let rig = try SharedService.current
        let (server, session) = (try rig.server("nginx"), try await rig.makeSession())
        let (user, password) = ("sindbad", "unsaid-\(way)")
        let stored = try await rig.service.request(
            .post, "/v1/credentials",
            body: #"{"session": "\#(session)", "persistence": "forSession", "isDefault": \#(way == "found"), "#
                + #""protectionSpace": {"host": "127.0.0.1", "port": \#(server.port), "protocol": "http", "#
                + #""realm": "\#(Cave.realm)", "authenticationMethod": "httpBasic"}, "#
                + #""user": "\#(user)", "password": "\#(password)"}"#)
        let credential = try #require(member(stored.json, "id", as: String.self), "\(stored.text)")
        let own =
            switch way {
            case "found": ""
            case "named": #", "authentication": {"credential": "\#(credential)"}"#
            default: ", " + self.own("\(password)", user: user)
            }
        let id = try await rig.service.submit(
            server.url("/basic/page"),
            asking: #"[{"on": "didReceiveChallenge", "when": {"previousFailureCount": {"min": 1}}}]"#,
            spec: #", "session": "\#(session)""#, configuration: own)
        let question = try await rig.service.question(of: id)
        #expect(member(question, "facts", "proposedCredential", "user") == user, "\(question)")
        #expect(
            member(question, "facts", "proposedCredential", "id", as: String.self)
                == (way == "brought" ? nil : credential), "\(question)")
        #expect(member(question, "facts", "previousFailureCount") == 1)
        #expect(member(question, "facts", "level") == "job")
        #expect(member(question, "facts", "protectionSpace", "realm") == Cave.realm)
        #expect(member(question, "facts", "failureResponse", "status") == 401)
        let login = #"{"user": "\#(Cave.user)", "password": "\#(Cave.password)"}"#
        let answered = try await rig.service.answer(question, #"{"answer": "useCredential", "credential": \#(login)}"#)
        #expect(status(of: try await rig.service.end(of: id)) == 200)
        let list = try await rig.service.request(.get, "/v1/jobs/\(id)/questions")
        for text in ["\(question)", answered.text, list.text] {
            #expect(!text.contains(password) && !text.contains(Cave.password), "\(text)")
        }
    }

    // Proves: AUT-8.
    @Test(arguments: [(["ntlm"], 200), (["basic", "negotiate"], 401), ([String](), 401)])
    func `NTLM is answered where the methods of the job have it`(_ methods: [String], _ code: Int) async throws {
        let rig = try SharedService.current
        let names = methods.map { "\"\($0)\"" }.joined(separator: ", ")
        let job = try await rig.fetch(
            try rig.server("ntlm").url("/"),
            configuration: own(Cave.password, user: #"CAVE\\\#(Cave.user)"#, #", "methods": [\#(names)]"#))
        #expect(status(of: job) == code, "\(job)")
        if code == 401 { #expect(transfers(job) == 1) }
    }

    // As every IIS offers them, while no KDC is known.
    @Test(arguments: [("NTLM", "NTLM"), ("Basic realm=\"b\"", "Basic"), ("NTLM, Basic realm=\"b\"", "NTLM")])
    func `a user and password go to the next scheme where no ticket can be had`(
        _ others: String, _ expected: String
    ) async throws {
        let rig = try SharedService.current
        let play = rig.stage.serve { number, connection in
            try connection.send(answer("401 No", "WWW-Authenticate: Negotiate, \(others)"))
        }
        _ = try await rig.fetch(play.url(), configuration: own("wrong"))
        let tried = play.requests.map { String($0.values("authorization").first?.prefix { $0 != " " } ?? "") }
        // libcurl begins NTLM twice.
        #expect(tried.prefix(2) == ["", expected])
    }

    // A stored credential is used for its own server, without another question in its space.
    // Proves: AUT-2, AUT-7, CRD-4, SES-7, AUT-22, CRD-6.
    @Test func `a credential is kept for its space, and sent ahead there`() async throws {
        let rig = try SharedService.current
        let (server, session) = (try rig.server("nginx"), try await rig.makeSession())
        let keep =
            #""authentication": {"credential": {"user": "\#(Cave.user)", "password": "\#(Cave.password)", "#
            + #""persistence": "forSession"}}"#
        let first = try await rig.fetch(server.url("/basic/page"), configuration: keep, session: session)
        #expect(status(of: first) == 200 && transfers(first) == 2)
        let reload = #""cachePolicy": "reloadIgnoringLocalCacheData""#
        let second = try await rig.fetch(server.url("/basic/page"), reload, session: session)
        #expect(status(of: second) == 200 && transfers(second) == 1)
        #expect(status(of: try await rig.fetch(try rig.server("apache").url("/basic/page"), session: session)) == 401)
        #expect(status(of: try await rig.fetch(server.url("/basic/page"))) == 401, "another session")
    }

    @Test func `an answer to a credential is given again to it alone, within its session`() async throws {
        let rig = try SharedService.current
        let (url, session) = (try rig.server("nginx").url("/basic/page"), try await rig.makeSession())
        let stored = #""cachePolicy": "returnCacheDataElseLoad""#
        for (password, status, isHit) in [
            (Cave.password, 200, false), (Cave.password, 200, true), ("wrong", 401, false), (Cave.password, 200, true),
        ] {
            let job = try await rig.fetch(url, stored, configuration: own(password), session: session)
            #expect(member(job, "response", "status") == status, "\(job)")
            #expect(member(job, "response", "fromCache") == isHit, "\(job)")
        }
        let other = try await rig.fetch(url, stored, configuration: own(Cave.password))
        #expect(status(of: other) == 200 && member(other, "response", "fromCache") == false)
        #expect(status(of: try await rig.fetch(url, stored, session: session)) == 401)
    }

    // R23: nonces that end after two uses, each algorithm, and the content protected too.
    // Proves: AUT-23.
    @Test(arguments: ["auth/u/p/MD5", "auth/u/p/SHA-256", "auth/u/p/SHA-512", "auth-int/u/p/SHA-256/2"])
    func `httpbin's digests are answered`(_ kind: String) async throws {
        let rig = try SharedService.current
        let session = try await rig.makeSession()
        for _ in 0..<3 {
            let job = try await rig.fetch(
                try rig.bin("/digest-auth/\(kind)"), configuration: own("p", user: "u"), session: session)
            #expect(status(of: job) == 200)
        }
    }

    // Three steps on one connection, and the content once.
    // Proves: AUT-24, AUT-1.
    @Test func `NTLM is spoken on a connection that nobody shares`() async throws {
        let rig = try SharedService.current
        let server = try rig.server("ntlm")
        let content = String(repeating: "x", count: 5000)
        for (user, password) in [("CAVE\\\\\(Cave.user)", Cave.password), ("CAVE\\\\jafar", "sim sala bim")] {
            let job = try await rig.fetch(
                server.url("/"), #""method": "POST", "body": {"text": "\#(content)"}"#,
                configuration: own(password, user: user))
            #expect(status(of: job) == 200, "\(job)")
            let name = user.split(separator: "\\").last.map(String.init) ?? ""
            #expect(try await rig.text(of: job).lowercased().contains(name) == true)
            #expect(try await rig.text(of: job).hasSuffix(" 5000"))
        }
    }

    // The content is sent again once the server knows who sends it.
    // Proves: UPL-7.
    @Test(arguments: ["basic", "digest"])
    func `an upload arrives whole after the challenge`(_ area: String) async throws {
        let rig = try SharedService.current
        let url = try rig.server("apache").url("/\(area)/up-\(UUID())")
        let content = String(repeating: "0123456789", count: 20_000)
        let blob = try await rig.service.request(
            .post, "/v1/blobs", body: content, headers: [.contentType: "text/plain"])
        let id = try #require(member(blob.json, "id", as: String.self))
        let put = try await rig.fetch(
            url, #""method": "PUT", "body": {"blob": "\#(id)"}"#, configuration: own(), more: #""kind": "upload""#)
        #expect(status(of: put) == 201, "\(put)")
        let got = try await rig.fetch(url, configuration: own())
        #expect(try await rig.text(of: got) == content)
    }

    // Proves: CON-4, URL-10, AUT-7.
    @Test func `the user name and password of a URL are all that is needed`() async throws {
        let rig = try SharedService.current
        let url = try rig.bin("/basic-auth/u/p%20w").replacing("http://", with: "http://u:p%20w@")
        let job = try await rig.fetch(url)
        #expect(status(of: job) == 200)
        #expect(!"\(job)".contains("u:p"))
    }
}
