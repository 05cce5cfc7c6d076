import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The stores of a session, the jobs that do without them, and their life over a restart.
@Suite(.sharedService(settings: ["SCHEMES_FTP": "true", "SCHEMES_FILE": "true"])) struct SessionRuleTests {
    private static let asking = answer("401 Who", "WWW-Authenticate: Basic realm=\"r\"")

    /// Wants a credential for `/in`, and gives whoever asks for something else an answer to store and a cookie.
    private static func serve(_ connection: WireConnection) throws {
        while let head = try connection.receiveHead() {
            let isShown = head.contains("\r\nAuthorization: Basic ")
            let text = head.contains("\r\nCookie: c=1") ? "cookie" : "none"
            let open = answer("200 OK", "Cache-Control: max-age=99", "Set-Cookie: c=1", body: text)
            try connection.send(head.hasPrefix("GET /in") ? isShown ? answer() : asking : open)
        }
    }

    private func store(
        _ user: String, port: UInt16, _ service: ServiceProcess, more: String = ""
    ) async throws -> String {
        let space =
            #"{"host": "127.0.0.1", "port": \#(port), "protocol": "http", "realm": "r", "#
            + #""authenticationMethod": "httpBasic"}"#
        let answer = try await service.request(
            .post, "/v1/credentials",
            body: #"{"protectionSpace": \#(space), "user": "\#(user)", "password": "p"\#(more)}"#)
        return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
    }

    // Proves: SES-2.
    @Test func `a session of the default kind has its answers and credentials after a restart`() async throws {
        let origin = try WireOrigin { try Self.serve($0) }
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let made = try await first.request(.post, "/v1/sessions", body: #"{"kind": "default"}"#).json
            let session = #", "session": "\#(try #require(member(made, "id", as: String.self)))""#
            let keep =
                #", "configuration": {"authentication": {"credential": {"user": "u", "password": "p", "#
                + #""persistence": "forSession"}}}"#
            #expect(status(of: try await first.fetch(origin.url("/a"), more: session)) == 200)
            #expect(status(of: try await first.fetch(origin.url("/in"), more: session + keep)) == 200)
            #expect(try await first.stop() == 0)
            let second = try await ServiceProcess.start(place, key: key)
            let stored = try await second.fetch(origin.url("/a"), more: session)
            #expect(status(of: stored) == 200 && member(stored, "response", "fromCache") == true, "\(stored)")
            #expect(status(of: try await second.fetch(origin.url("/in/b"), more: session)) == 200)
            let cookie = try await second.fetch(origin.url("/b"), more: session)
            let href = try #require(member(cookie, "body", "href", as: String.self))
            #expect(try await second.request(.get, href).text == "cookie")
            #expect(status(of: try await second.fetch(origin.url("/in/c"))) == 401, "another session has none")
            #expect(try await second.stop() == 0)
        }
        #expect(origin.connections.count > 1)
    }

    // Of a session, and of one of its jobs.
    // Proves: SES-6.
    @Test(arguments: ["session", "job"])
    func `a session or a job can do without its cache, credentials and cookies`(_ who: String) async throws {
        let origin = try WireOrigin { try Self.serve($0) }
        let without =
            #""cache": {"storagePolicy": "notAllowed", "requestCachePolicy": "reloadIgnoringLocalCacheData"}, "#
            + #""cookies": {"jar": "none"}, "authentication": {"methods": []}"#
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            func make(_ configuration: String) async throws -> String {
                let made = try await service.request(
                    .post, "/v1/sessions", body: #"{"configuration": {\#(configuration)}}"#)
                return try #require(member(made.json, "id", as: String.self), "\(made.text)")
            }
            /// Whether an answer is used again, a credential shown and a cookie sent.
            func uses(_ session: String, _ configuration: String = "") async throws -> [Bool] {
                func fetch(_ path: String) async throws -> [String: Any] {
                    try await service.fetch(
                        origin.url(path), more: #", "session": "\#(session)", "configuration": {\#(configuration)}"#)
                }
                let (answer, entry, other) = (
                    try await fetch("/a"), try await fetch("/in"), try await fetch("/\(UUID())")
                )
                let href = try #require(member(other, "body", "href", as: String.self))
                return [
                    member(answer, "response", "fromCache") == true, status(of: entry) == 200,
                    try await service.request(.get, href).text == "cookie",
                ]
            }
            _ = try await store("u", port: origin.port, service)
            let session = try await make("")
            #expect(try await uses(session) == [false, true, true])
            // A response from before the credential was shown is not for its user.
            #expect(try await uses(session) == [false, true, true])
            #expect(try await uses(session) == [true, true, true])
            let bare = who == "session" ? try await make(without) : session
            for _ in 0..<2 {
                #expect(try await uses(bare, who == "session" ? "" : without) == [false, false, false])
            }
            guard who == "session" else { return }
            for store in ["cache", "cookies"] {
                let list = try await service.request(.get, "/v1/\(store)?session=\(bare)").json
                #expect(member(list, "data", as: [Any].self)?.isEmpty == true, "\(store)")
            }
        }
    }

    // Two credentials are stored for one server: each session sends the one that it names, and decides about a refusal.
    // Proves: SES-7.
    @Test func `how servers are answered is the session's choice, and the job's before it`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let shown = head.firstMatch(of: /\r\nAuthorization: Basic (\S+)/).map { String($0.output.1) } ?? ""
                let user = Data(base64Encoded: shown).map { String(decoding: $0, as: UTF8.self) } ?? ""
                try connection.send(user == "b:p" ? answer("200 OK", body: user) : Self.asking)
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let (wrong, right) = (
                try await store("a", port: origin.port, service),
                try await store("b", port: origin.port, service, more: #", "isDefault": false"#)
            )
            func make(_ authentication: String) async throws -> String {
                let made = try await service.request(
                    .post, "/v1/sessions", body: #"{"configuration": {"authentication": {\#(authentication)}}}"#)
                return try #require(member(made.json, "id", as: String.self), "\(made.text)")
            }
            func fetch(_ path: String, _ session: String, _ authentication: String = "") async throws -> [String: Any] {
                try await service.fetch(
                    origin.url(path),
                    more: #", "session": "\#(session)", "configuration": {"authentication": {\#(authentication)}}"#)
            }
            let entering = try await make(#""credential": "\#(right)""#)
            #expect(status(of: try await fetch("/1", entering)) == 200)
            let strict = try await make(
                #""credential": "\#(wrong)", "onFailure": "cancelAuthenticationChallenge""#)
            #expect(errorName(of: try await fetch("/2", strict)) == "userCancelledAuthentication")
            // The job's own goes before it, member by member.
            let own = #""credential": "\#(right)""#
            #expect(status(of: try await fetch("/3", strict, own)) == 200)
            #expect(
                status(of: try await fetch("/4", strict, #""onFailure": "performDefaultHandling""#)) == 401)
            let silent = try await make(#""credential": "\#(right)", "methods": ["digest"]"#)
            #expect(status(of: try await fetch("/5", silent)) == 401)
        }
    }

    // 127.0.0.1 is of one family, and a name of both.
    @Test func `a job connects to addresses of the families that it names alone`() async throws {
        let origin = try WireOrigin(playing: answer())
        let rules = ["127.0.0.1:\(origin.port)", "[::1]:\(origin.port)", "localhost"]
        try await ServiceProcess.with(allowing: rules) { service in
            func fetch(_ family: String, _ host: String) async throws -> [String: Any] {
                try await service.fetch(
                    "http://\(host):\(origin.port)/",
                    more: #", "configuration": {"connections": {"addressFamily": "\#(family)"}, "#
                        + #""retry": {"maximumAttempts": 1}}"#)
            }
            for host in ["127.0.0.1", "localhost"] {
                for family in ["any", "ipv4"] {
                    #expect(status(of: try await fetch(family, host)) == 200, "\(family) \(host)")
                }
                let count = origin.connections.count
                let other = try await fetch("ipv6", host)
                // Where a name has no address of a family, the error says so.
                #expect(["cannotConnectToHost", "cannotFindHost"].contains(errorName(of: other)), "\(host): \(other)")
                #expect(origin.connections.count == count)
            }
        }
    }

    // A load that cannot be continued by itself is not begun.
    // Proves: BKG-4.
    @Test func `a background session has downloads and uploads of blobs over http and https alone`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer())
        let hook = try await rig.service.request(
            .post, "/v1/webhooks/endpoints", body: #"{"url": "\#(rig.other.play(answer()).url("hook"))"}"#)
        let endpoint = try #require(member(hook.json, "id", as: String.self), "\(hook.text)")
        let session = try await rig.makeSession(
            #"{"kind": "background", "identifier": "b-\#(UUID())", "webhook": {"endpoint": "\#(endpoint)"}}"#)
        func submit(_ members: String) async throws -> ServiceProcess.Answer {
            try await rig.service.request(.post, "/v1/jobs", body: #"{"session": "\#(session)", \#(members)}"#)
        }
        for url in ["ftp://a.example/f", "ftps://a.example/f", "file:///a", "data:,x"] {
            let refused = try await submit(#""kind": "download", "request": "\#(url)""#)
            #expect(refused.status == 422 && member(refused.json, "errors", "0", "pointer") == "/request/url", "\(url)")
        }
        let data = try await submit(#""request": "\#(play.url())""#)
        #expect(data.status == 422 && member(data.json, "errors", "0", "pointer") == "/kind")
        for body in [
            #"{"text": "x"}"#, #"{"base64": "eA=="}"#, #"{"json": 1}"#, #"{"form": {"a": "b"}}"#, #"{"stream": true}"#,
            #"{"multipart": [{"name": "a", "text": "b"}]}"#,
        ] {
            for kind in ["upload", "download"] {
                let refused = try await submit(
                    #""kind": "\#(kind)", "request": {"url": "\#(play.url())", "method": "PUT", "body": \#(body)}"#)
                let pointer = member(refused.json, "errors", "0", "pointer", as: String.self)
                #expect(refused.status == 422 && pointer == "/request/body", "\(kind) \(body): \(refused.text)")
            }
        }
        #expect(play.requests.isEmpty)
        let blob = try await rig.service.send(.post, "/v1/blobs", .bytes(Array("blob".utf8)))
        let id = try #require(member(blob.json, "id", as: String.self))
        let put = try await submit(
            #""kind": "upload", "request": {"url": "\#(play.url())", "method": "PUT", "body": {"blob": "\#(id)"}}"#)
        let job = try await rig.service.job(try #require(member(put.json, "id", as: String.self), "\(put.text)")) {
            member($0, "state") == "succeeded"
        }
        #expect(status(of: job) == 200 && play.requests.map(\.body) == [Array("blob".utf8)])
    }
}
