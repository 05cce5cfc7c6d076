import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Jobs through proxies: squid, tinyproxy, dante and microsocks.
@Suite(
    .enabled(if: ["squid", "tinyproxy", "danted"].allSatisfy { LoopbackServer.installed($0) != nil }),
    .sharedService {
        ["squid": try await .squid(), "tinyproxy": try await .tinyproxy(), "dante": try await .dante()]
    })
struct ProxyRuleTests {
    private func proxy(_ scheme: String, _ server: LoopbackServer, _ more: String = "") -> String {
        #""proxy": {"url": "\#(scheme)://127.0.0.1:\#(server.port)"\#(more)}"#
    }

    // Proves: NET-5, NET-7, SES-11, BEY-18, BEY-1.
    @Test func `an HTTP proxy is asked for the whole URL, and the transfer tells that there was one`() async throws {
        let rig = try SharedService.current
        let (squid, play) = (try rig.server("squid"), rig.stage.play(answer("200 OK", body: "through")))
        let job = try await rig.fetch(play.url("a"), configuration: proxy("http", squid))
        #expect(try await rig.text(of: job) == "through")
        #expect(member(job, "attempts", "0", "metrics", "0", "isProxyConnection") == true)
        #expect(member(job, "attempts", "0", "metrics", "0", "remotePort") == Int(squid.port))
        let direct = try await rig.fetch(play.url("b"))
        #expect(member(direct, "attempts", "0", "metrics", "0", "isProxyConnection", as: Bool.self) == nil)
        #expect(play.requests.first?.values("via").isEmpty == false)
        try await until { squid.directory.text(of: "access.log").contains("GET \(play.url("a"))") }
    }

    // The operator's proxy has its own users, and what proves the service to it is shown to nobody.
    // Proves: NET-5.
    @Test func `jobs that name no proxy go through the operator's`() async throws {
        let squid = try await LoopbackServer.squid(users: ["cave:sesame12"])
        let rig = try SharedService.current
        let (dante, origin) = (try rig.server("dante"), try WireOrigin(playing: answer("200 OK", body: "x")))
        let settings = [
            "WORKER_PROXY": "http://cave:sesame12@127.0.0.1:\(squid.port)", "WORKER_NO_PROXY": "localhost",
        ]
        let rules = [squid.port, dante.port, origin.port].map { "127.0.0.1:\($0)" } + ["localhost"]
        try await ServiceProcess.with(allowing: rules, settings: settings) { service in
            func session(_ body: String) async throws -> String {
                let made = try await service.request(.post, "/v1/sessions", body: body)
                return #", "session": "\#(try #require(member(made.json, "id", as: String.self), "\(made.text)"))""#
            }
            let own = #""configuration": {"proxy": {"url": "socks5://127.0.0.1:\#(dante.port)"}}"#
            let none = #", "configuration": {"proxy": {"rules": []}}"#
            let ephemeral = try await session(#"{"kind": "ephemeral"}"#)
            for (name, more, isThrough) in [
                ("default", "", true), ("ephemeral", ephemeral, true),
                ("session", try await session("{\(own)}"), false),
                ("job", ", \(own)", false), ("none", none, false), ("local", "", false),
            ] {
                let url = origin.url("/\(name)").replacing(
                    "127.0.0.1", with: name == "local" ? "localhost" : "127.0.0.1")
                let job = try await service.fetch(url, more: more)
                #expect(status(of: job) == 200, "\(job)")
                let heads = origin.connections.indices.map { origin.received(on: $0) }.joined()
                    .components(separatedBy: "\r\n\r\n")
                let head = try #require(heads.first { $0.hasPrefix("GET /\(name) ") }, "\(heads)")
                #expect(head.lowercased().contains("\r\nvia: ") == isThrough, "\(head)")
                #expect(!head.contains("roxy-"))
            }
            try await until { squid.directory.text(of: "access.log").contains("GET \(origin.url("/default")) cave ") }
            let shown = try await service.request(.get, "/v1/sessions/default?include=effectiveConfiguration")
            #expect(
                member(shown.json, "effectiveConfiguration", "proxy", "url", "value")
                    == "http://127.0.0.1:\(squid.port)", "\(shown.text)")
            #expect(!shown.text.contains("sesame12") && !service.logged.contains("sesame12"))
        }
    }

    // Proves: NET-6, BEY-18.
    @Test(arguments: ["socks4", "socks5", "socks5h"])
    func `a SOCKS proxy carries a job`(_ scheme: String) async throws {
        let rig = try SharedService.current
        let (dante, play) = (try rig.server("dante"), rig.stage.play(answer("200 OK", body: scheme)))
        let job = try await rig.fetch(play.url(), configuration: proxy(scheme, dante))
        #expect(try await rig.text(of: job) == scheme, "\(job)")
        #expect(play.requests.count == 1)
    }

    // Nobody here knows the name, and SOCKS 4a has a place for it where 4 has an address.
    // Proves: NET-6.
    @Test(arguments: ["socks4a", "socks5h"])
    func `the proxy resolves the name`(_ scheme: String) async throws {
        let name = "origin.example"
        let asked = Mutex<[UInt8]>([])
        let relay = try WireOrigin { connection in
            if scheme == "socks4a" {
                // The user is empty.
                asked.withLock { $0 = [] }
                let request = try connection.receive(9 + name.utf8.count + 1)
                asked.withLock { $0 = request }
                try connection.send([0, 90, 0, 0, 0, 0, 0, 0])
            } else {
                _ = try connection.receive(Int(try connection.receive(2)[1]))
                try connection.send([5, 0])
                let request = try connection.receive(5 + name.utf8.count + 2)
                asked.withLock { $0 = request }
                try connection.send([5, 0, 0, 1, 127, 0, 0, 1, 0, 0])
            }
            try connection.receiveHead()
            try connection.send(answer("200 OK", body: scheme))
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(relay.port)"]) { service in
            let job = try await service.fetch(
                "http://\(name)/",
                more: #", "configuration": {"proxy": {"url": "\#(scheme)://127.0.0.1:\#(relay.port)"}}"#)
            #expect(status(of: job) == 200, "\(job)")
        }
        let text = Array(name.utf8)
        let expected: [UInt8] =
            scheme == "socks4a"
            ? [4, 1, 0, 80, 0, 0, 0, 1, 0] + text + [0] : [5, 1, 0, 3, UInt8(text.count)] + text + [0, 80]
        #expect(asked.withLock { $0 } == expected)
    }

    // Each scheme and host its own way.
    // Proves: NET-7, BEY-18.
    @Test func `what is excepted goes past the proxy`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer())
        let except = proxy("http", try rig.server("squid"), #", "noProxy": ["127.0.0.1"]"#)
        #expect(status(of: try await rig.fetch(play.url(), configuration: except)) == 200)
        #expect(play.requests.first?.values("via") == [])
    }

    // The first is not there, and the second is asked.
    // Proves: NET-7, BEY-18.
    @Test func `rules choose the proxies by scheme and host, and the next one when one cannot be reached`() async throws
    {
        let rig = try SharedService.current
        let (squid, dante, play) = (
            try rig.server("squid"), try rig.server("dante"), rig.stage.play(answer("200 OK", body: "x"))
        )
        func rules(_ rules: String...) -> String { #""proxy": {"rules": [\#(rules.joined(separator: ", "))]}"# }
        let viaSquid = #""proxies": ["http://127.0.0.1:9", "http://127.0.0.1:\#(squid.port)"]"#
        let viaDante = #""proxies": ["socks5://127.0.0.1:\#(dante.port)"]"#
        for (configuration, isThrough) in [
            (rules(#"{"schemes": ["http"], \#(viaSquid)}"#), true),
            (rules(#"{"schemes": ["https"], \#(viaSquid)}"#), false),
            (rules(#"{"hosts": ["*.example"], \#(viaSquid)}"#, "{\(viaDante)}"), false),
            (rules(#"{"hosts": ["127.0.0.1"], \#(viaSquid)}"#, "{\(viaDante)}"), true),
            (rules(#"{"excludedHosts": ["127.0.0.1"], \#(viaSquid)}"#), false),
            (rules(#"{"proxies": ["http://127.0.0.1:9", "direct"]}"#), false),
        ] {
            let count = play.requests.count
            let job = try await rig.fetch(play.url("\(count)"), configuration: configuration)
            #expect(try await rig.text(of: job) == "x", "\(job)")
            #expect(play.requests.last?.values("via").isEmpty == !isThrough, "\(configuration)")
        }
        let gone = try await rig.fetch(
            play.url("gone"), configuration: rules(#"{"proxies": ["http://127.0.0.1:9", "socks5://127.0.0.1:9"]}"#))
        #expect(errorName(of: gone) == "cannotConnectToProxy", "\(gone)")
    }

    // The reply of a proxy is the response; that the proxy cannot be used is an error of its own.
    // Proves: NET-8, ERR-4.
    @Test func `a proxy that refuses, one that fails and one that is not there are told apart`()
        async throws
    {
        let rig = try SharedService.current
        let refused = try await rig.fetch("http://127.0.0.1:9/", configuration: proxy("http", try rig.server("squid")))
        #expect(status(of: refused) == 403)
        let tunnel = try await rig.fetch("https://127.0.0.1:9/", configuration: proxy("http", try rig.server("squid")))
        #expect(member(tunnel, "state") == "failed" && errorName(of: tunnel) == "proxyRefusedConnection", "\(tunnel)")
        let socks = try await rig.fetch("http://127.0.0.1:9/", configuration: proxy("socks5", try rig.server("dante")))
        #expect(member(socks, "state") == "failed" && errorName(of: socks) == "proxyRefusedConnection", "\(socks)")
        let unreached = try await rig.fetch(
            "https://127.0.0.1:9/", configuration: proxy("http", try rig.server("tinyproxy")))
        #expect(errorName(of: unreached) == "proxyCouldNotConnect", "\(unreached)")
        #expect(member(unreached, "error", "code") == -1004 && member(unreached, "error", "retriable") == true)
        let play = rig.stage.play(answer())
        let gone = try await rig.fetch(play.url(), configuration: #""proxy": {"url": "http://127.0.0.1:9"}"#)
        #expect(errorName(of: gone) == "cannotConnectToProxy", "\(gone)")
        #expect(play.requests.isEmpty)
    }

    // The origin's credential is the origin's.
    // Proves: NET-8, RED-11.
    @Test func `a credential of the origin is not for the proxy`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(
            answer("401 No", "WWW-Authenticate: Basic realm=\"r\""), answer("200 OK", body: "in"))
        let own = #""authentication": {"credential": {"user": "u", "password": "p"}}"#
        let job = try await rig.fetch(
            play.url(), configuration: own + ", " + proxy("http", try rig.server("tinyproxy")))
        #expect(try await rig.text(of: job) == "in")
        #expect(play.requests.last?.values("authorization").count == 1)
        #expect(play.requests.last?.values("proxy-authorization") == [])
    }

    // A connection is used again by those that go the same way.
    // Proves: NET-9, SEC-21.
    @Test func `jobs that go different ways share no connection`() async throws {
        let rig = try SharedService.current
        let (play, session) = (rig.stage.play(answer()), try await rig.makeSession())
        func isReused(_ way: String) async throws -> Bool? {
            let job = try await rig.fetch(play.url(), configuration: way, session: session)
            return member(job, "attempts", "0", "metrics", "0", "isReusedConnection")
        }
        let (squid, dante) = (proxy("http", try rig.server("squid")), proxy("socks5", try rig.server("dante")))
        for way in ["", squid, dante] { #expect(try await isReused(way) == false) }
        for way in ["", squid, dante] { #expect(try await isReused(way) == true) }
    }

    // Asked by each kind of squid's, before a tunnel too; the proxy never sees the content of the tunnel.
    // Proves: AUT-30.
    @Test(arguments: ["basic", "digest", "ntlm"])
    func `a proxy is answered in its own scheme, before a tunnel too`(_ scheme: String) async throws {
        let squid = try await LoopbackServer.squid(users: ["cave:sesame12"], scheme: scheme)
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.nginxTLS(try await authority.issue("server"))
        let origin = try WireOrigin(playing: answer("200 OK", body: "plain"))
        let anchors = String(decoding: authority.certificate, as: UTF8.self).replacing("\n", with: "\\n")
        let rules = [squid.port, server.port, origin.port].map { "127.0.0.1:\($0)" }
        try await ServiceProcess.with(allowing: rules) { service in
            func fetch(_ url: String, _ password: String?) async throws -> [String: Any] {
                let credential = password.map { #", "credential": {"user": "cave", "password": "\#($0)"}"# } ?? ""
                return try await service.fetch(
                    url,
                    more: #", "configuration": {"serverTrust": {"policy": "custom", "anchors": "\#(anchors)"}, "#
                        + #""retry": {"maximumAttempts": 1}, "#
                        + #""proxy": {"url": "http://127.0.0.1:\#(squid.port)"\#(credential)}}"#)
            }
            for url in [origin.url("/a"), "https://127.0.0.1:\(server.port)/"] {
                // Squid's helper for NTLM believes whoever speaks it.
                for password in scheme == "ntlm" ? [nil] : [nil, "wrong"] {
                    let refused = try await fetch(url + "?\(password ?? "")", password)
                    #expect(
                        status(of: refused) == 407 || errorName(of: refused) == "proxyAuthenticationRequired",
                        "\(refused)")
                }
                #expect(status(of: try await fetch(url, "sesame12")) == 200)
            }
            let line = " CONNECT 127.0.0.1:\(server.port) " + (scheme == "ntlm" ? "" : "cave")
            try await until { squid.directory.text(of: "access.log").contains(line) }
        }
        #expect(!origin.received().contains("roxy-") && origin.received().components(separatedBy: "GET ").count == 2)
    }

    // Proves: ERR-4.
    @Test func `a proxy that speaks another protocol has an error of its own`() async throws {
        let http = try WireOrigin { connection in try connection.send(answer("400 Bad Request")) }
        let place = "127.0.0.1:\(http.port)"
        try await ServiceProcess.with(allowing: [place]) { service in
            let job = try await service.fetch(
                "http://\(place)/",
                more: #", "configuration": {"proxy": {"url": "socks5://\#(place)"}, "retry": {"maximumAttempts": 1}}"#)
            #expect(errorName(of: job) == "badProxyResponse" && member(job, "error", "code") == -1011, "\(job)")
        }
    }

    // The tickets are for the proxy, and the origin sees nothing of them.
    // Proves: AUT-30.
    @Test(.enabled(if: KerberosRealm.isInstalled))
    func `a proxy that wants Negotiate is given tickets, before a tunnel too`() async throws {
        let realm = try await KerberosRealm()
        let squid = try await LoopbackServer.squid(realm: realm)
        let authority = try await TestAuthority()
        let server = try await LoopbackServer.nginxTLS(try await authority.issue("server"))
        let origin = try WireOrigin(playing: answer("200 OK", body: "plain"))
        let anchors = String(decoding: authority.certificate, as: UTF8.self).replacing("\n", with: "\\n")
        let rules = [squid.port, server.port, origin.port].map { "127.0.0.1:\($0)" } + ["localhost", realm.address]
        let settings = ["KERBEROS_REALMS": realm.setting]
        try await ServiceProcess.with(allowing: rules, settings: settings) { service in
            func fetch(_ url: String, _ password: String) async throws -> [String: Any] {
                try await service.fetch(
                    url,
                    more: #", "configuration": {"serverTrust": {"policy": "custom", "anchors": "\#(anchors)"}, "#
                        + #""retry": {"maximumAttempts": 1}, "proxy": {"url": "http://localhost:\#(squid.port)", "#
                        + #""credential": {"user": "aladdin@CAVE.TEST", "password": "\#(password)"}}}"#)
            }
            for url in [origin.url("/a"), "https://127.0.0.1:\(server.port)/"] {
                let refused = try await fetch(url, "wrong")
                #expect(
                    status(of: refused) == 407 || errorName(of: refused) == "proxyAuthenticationRequired",
                    "\(refused)")
                #expect(status(of: try await fetch(url, Cave.password)) == 200)
            }
        }
        // A tunnel is logged when it ends, which it does with the service.
        try await until {
            let log = squid.directory.text(of: "access.log")
            return log.contains("GET \(origin.url("/a")) aladdin@CAVE.TEST")
                && log.contains(" CONNECT 127.0.0.1:\(server.port) aladdin@CAVE.TEST")
        }
        #expect(!origin.received().contains("roxy-") && origin.received().components(separatedBy: "GET ").count == 2)
    }

    // A proxy's challenge is answered with its own credential, or it is the response.
    // Proves: AUT-30.
    @Test func `a proxy's question is not the origin's`() async throws {
        let rig = try SharedService.current
        let proxyLike = rig.stage.play(answer("407 Who", "Proxy-Authenticate: Basic realm=\"p\"", body: "who"))
        let own = #""authentication": {"credential": {"user": "u", "password": "p"}}"#
        let way = #""proxy": {"url": "http://127.0.0.1:\#(rig.stage.port)"}"#
        let job = try await rig.fetch(proxyLike.url(), configuration: own + ", " + way)
        #expect(member(job, "state") == "failed" || status(of: job) == 407, "\(job)")
        #expect(proxyLike.requests.allSatisfy { $0.values("proxy-authorization") == [] })
    }
}
