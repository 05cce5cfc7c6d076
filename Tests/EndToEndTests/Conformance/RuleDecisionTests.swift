import Foundation
import HTTPTypes
import TestSupport
import Testing

extension Rig {
    /// The decisions of a job's last attempt.
    func decisions(of job: [String: Any]) async throws -> [[String: Any]] {
        let id = try #require(member(job, "id", as: String.self))
        let answer = try await service.request(.get, "/v1/jobs/\(id)/explain")
        try #require(answer.status == 200, "\(answer.text)")
        let attempts = member(answer.json, "attempts", as: [[String: Any]].self) ?? []
        return attempts.last.flatMap { member($0, "decisions", as: [[String: Any]].self) } ?? []
    }
}

private func rules(_ rules: String...) -> String { "\"rules\": [\(rules.joined(separator: ", "))]" }

private func text(_ decision: [String: Any]?, _ path: String...) -> String? {
    var value: Any? = decision
    for name in path { value = (value as? [String: Any])?[name] }
    return value as? String
}

/// Rules decide the choices of loads, and the record says which did.
@Suite(.sharedServiceAndHTTPBin) struct RuleDecisionTests {
    private static func redirect(to location: String) -> String {
        answer("302 Elsewhere", "Location: \(location)", body: "old")
    }

    @Test func `a job without rules has no decisions`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.serve { number, connection in
            try connection.send(number == 0 ? Self.redirect(to: "next") : answer())
        }
        let job = try await rig.fetch(play.url("a"))
        #expect(try await rig.decisions(of: job).isEmpty)
    }

    // Proves: DLG-8.
    @Test(arguments: [("follow", 200, 2), ("returnResponse", 302, 1)])
    func `the first rule that fits decides about a redirect`(_ word: String, _ code: Int, _ count: Int) async throws {
        let rig = try SharedService.current
        let play = rig.stage.serve { number, connection in
            try connection.send(number == 0 ? Self.redirect(to: "next") : answer())
        }
        let job = try await rig.fetch(
            play.url("a"),
            configuration: rules(
                #"{"on": "willPerformHTTPRedirection", "when": {"status": 301}, "answer": "cancel"}"#,
                #"{"name": "mine", "on": "willPerformHTTPRedirection", "when": {"crossOrigin": false, "hop": {"max": 1}}, "#
                    + #""answer": "\#(word)"}"#))
        #expect(status(of: job) == code && play.requests.count == count)
        let decisions = try await rig.decisions(of: job)
        #expect(decisions.count == 1)
        #expect(text(decisions.first, "by", "rule") == "mine" && text(decisions.first, "by", "from") == "job")
        #expect(text(decisions.first, "answer") == word)
        #expect(text(decisions.first, "facts", "from") == play.url("a"))
    }

    @Test func `a redirect answered with cancel ends the job, which is not tried again`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.serve { _, connection in try connection.send(Self.redirect(to: "next")) }
        let job = try await rig.fetch(
            play.url("a"),
            configuration: rules(#"{"on": "willPerformHTTPRedirection", "answer": "cancel"}"#)
                + #", "retry": {"maximumAttempts": 3}"#)
        #expect(member(job, "state") == "cancelled" && play.requests.count == 1)
        #expect(member(job, "attempts", as: [Any].self)?.count == 1)
        #expect(text(try await rig.decisions(of: job).first, "answer") == "cancel")
    }

    @Test func `the policy holds where no rule fits, and the record says so`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.serve { _, connection in try connection.send(Self.redirect(to: "next")) }
        let job = try await rig.fetch(
            play.url("a"),
            configuration: rules(
                #"{"on": "willPerformHTTPRedirection", "when": {"crossOrigin": true}, "answer": "cancel"}"#)
                + #", "redirects": {"policy": "return"}"#)
        #expect(status(of: job) == 302)
        let decisions = try await rig.decisions(of: job)
        #expect(text(decisions.first, "by", "who") == "configuration")
        #expect(text(decisions.first, "answer") == "performDefaultHandling")
    }

    // Proves: RED-3.
    @Test func `another request is made in place of the proposed one, without what was for its server alone`()
        async throws
    {
        let rig = try SharedService.current
        let play = rig.stage.serve { _, connection in try connection.send(Self.redirect(to: "next")) }
        let other = rig.other.serve { _, connection in try connection.send(answer()) }
        let change =
            #"{"url": "\#(other.url("b"))", "method": "POST", "headers": [{"name": "X-Mine", "value": "1"}], "#
            + #""body": {"text": "hello"}}"#
        let job = try await rig.fetch(
            play.url("a"),
            #""headers": [{"name": "Authorization", "value": "Bearer top"}, {"name": "X-Old", "value": "0"}]"#,
            configuration: rules(
                #"{"on": "willPerformHTTPRedirection", "answer": {"answer": "follow", "request": \#(change)}}"#))
        #expect(status(of: job) == 200)
        let request = try #require(other.requests.first)
        #expect(request.line.hasPrefix("POST ") && request.body == Array("hello".utf8))
        #expect(request.values("x-mine") == ["1"] && request.values("x-old").isEmpty)
        #expect(request.values("authorization").isEmpty)
        #expect(request.values("content-type") == ["text/plain; charset=utf-8"])
    }

    @Test func `sensitive fields stay where the server does`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.serve { number, connection in
            try connection.send(number == 0 ? Self.redirect(to: "next") : answer())
        }
        _ = try await rig.fetch(
            play.url("a"), #""headers": [{"name": "Authorization", "value": "Bearer top"}]"#,
            configuration: rules(
                #"{"on": "willPerformHTTPRedirection", "answer": {"answer": "follow", "#
                    + #""request": {"headers": [{"name": "X-Mine", "value": "1"}]}}}"#))
        #expect(play.requests.last?.values("authorization") == ["Bearer top"])
        #expect(play.requests.last?.values("x-mine") == ["1"])
    }

    // Precedence 1: limits that nobody may lift.
    @Test func `an answer that breaks a limit is not used`() async throws {
        let rig = try SharedService.current
        for target in ["http://10.0.0.1/", "http://elsewhere.example/"] {
            let play = rig.stage.serve { number, connection in
                try connection.send(number == 0 ? Self.redirect(to: "next") : answer())
            }
            let job = try await rig.fetch(
                play.url("a"),
                configuration: rules(
                    #"{"on": "willPerformHTTPRedirection", "answer": {"answer": "follow", "#
                        + #""request": {"url": "\#(target)"}}}"#)
                    + #", "redirects": {"allowedHosts": ["127.0.0.1"]}"#)
            #expect(status(of: job) == 200, "the proposed request is made")
            let refusal = text(try await rig.decisions(of: job).first, "refusal")
            #expect(refusal?.contains("not allowed") == true, "\(refusal ?? "-")")
        }
    }

    @Test func `what a limit forbids is not asked`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.serve { _, connection in try connection.send(Self.redirect(to: "next")) }
        let job = try await rig.fetch(
            play.url("a"),
            configuration: rules(#"{"on": "willPerformHTTPRedirection", "answer": "follow"}"#)
                + #", "redirects": {"maximum": 0}"#)
        #expect(errorName(of: job) == "httpTooManyRedirects")
        #expect(try await rig.decisions(of: job).isEmpty)
    }

    @Test func `a session's rules hold for its jobs, after their own`() async throws {
        let rig = try SharedService.current
        let session = try await rig.makeSession(
            #"{"configuration": {"rules": [{"name": "of all", "on": "didReceiveResponse", "answer": "cancel"}]}}"#)
        let play = rig.stage.serve { _, connection in try connection.send(answer()) }
        let job = try await rig.fetch(play.url(), session: session)
        #expect(member(job, "state") == "cancelled")
        #expect(text(try await rig.decisions(of: job).first, "by", "from") == "session")
        let own = try await rig.fetch(
            play.url(), configuration: rules(#"{"on": "didReceiveResponse", "answer": "allow"}"#), session: session)
        #expect(status(of: own) == 200)
    }

    // Proves: LIF-6.
    @Test func `a response that is too large is not loaded`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.serve { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nx")
            try connection.receiveToEnd()
        }
        let job = try await rig.fetch(
            play.url(),
            configuration: rules(
                #"{"on": "didReceiveResponse", "when": {"contentLength": {"min": 100000}}, "answer": "cancel"}"#))
        #expect(member(job, "state") == "cancelled")
    }

    // Proves: DLG-8.
    @Test func `a data job becomes a download by a rule`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(
            "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Disposition: attachment; filename=v.mp4\r\n"
                + "Content-Length: 3\r\n\r\nabc")
        let job = try await rig.fetch(
            play.url(),
            configuration: rules(
                #"{"on": "didReceiveResponse", "when": {"contentType": "video/*"}, "answer": "becomeDownload"}"#,
                #"{"on": "decideDestination", "answer": {"answer": "use", "filename": "mine.mp4"}}"#))
        #expect(member(job, "kind") == "download" && member(job, "file", "filename") == "mine.mp4")
        #expect(try await rig.text(of: job) == "abc")
        #expect(
            try await rig.decisions(of: job).compactMap { text($0, "kind") } == [
                "didReceiveResponse", "decideDestination",
            ])
    }

    // Proves: DLD-3, DLG-8.
    @Test func `a download is named, or not made, by a rule`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.serve { _, connection in try connection.send(answer()) }
        let named = try await rig.fetch(
            play.url("a.txt"),
            configuration: rules(
                #"{"on": "decideDestination", "when": {"suggestedFilename": "*.txt"}, "#
                    + #""answer": {"answer": "use", "filename": "b.txt"}}"#),
            more: #""kind": "download""#)
        #expect(member(named, "file", "filename") == "b.txt")
        let cancelled = try await rig.fetch(
            play.url("a.txt"), configuration: rules(#"{"on": "decideDestination", "answer": "cancel"}"#),
            more: #""kind": "download""#)
        #expect(member(cancelled, "state") == "cancelled")
    }

    // Proves: DLG-8.
    @Test(arguments: [("yes", true), ("no", false)])
    func `a file is decoded by a rule, whatever the configuration says`(_ word: String, _ isDecoded: Bool) async throws
    {
        let rig = try SharedService.current
        let zip = try #require(Data(base64Encoded: "H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA=="))
        let play = rig.stage.serve { _, connection in
            try connection.send(
                "HTTP/1.1 200 OK\r\nContent-Type: application/gzip\r\nContent-Length: \(zip.count)\r\n\r\n")
            try connection.send(Array(zip))
        }
        let job = try await rig.fetch(
            play.url("a.gz"),
            configuration: rules(#"{"on": "shouldDecodeSourceData", "answer": "\#(word)"}"#)
                + (isDecoded ? "" : #", "response": {"decode": ["gzip"]}"#),
            more: #""kind": "download""#)
        #expect(member(job, "state") == "succeeded")
        #expect(try await rig.body(of: job) == (isDecoded ? Array("hello".utf8) : Array(zip)))
    }

    // Proves: CCH-12, DLG-8.
    @Test func `a rule decides what the cache keeps`() async throws {
        let rig = try SharedService.current
        let session = try await rig.makeSession()
        let play = rig.stage.serve { _, connection in
            try connection.send(answer("200 OK", "Cache-Control: max-age=600"))
        }
        let forbids = rules(
            #"{"on": "willCacheResponse", "when": {"url": {"path": "\#(try #require(URL(string: play.url("no"))).path)"}}, "#
                + #""answer": "doNotStore"}"#)
        for _ in 0..<2 { _ = try await rig.fetch(play.url("no"), configuration: forbids, session: session) }
        #expect(play.requests.count == 2)
        for _ in 0..<2 { _ = try await rig.fetch(play.url("yes"), configuration: forbids, session: session) }
        #expect(play.requests.count == 3)
    }

    // Proves: BEY-3, DLG-8.
    @Test func `a delayed job begins with the request of a rule`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.serve { _, connection in try connection.send(answer()) }
        let job = try await rig.fetch(
            play.url("a"),
            configuration: rules(
                #"{"on": "willBeginDelayedRequest", "answer": {"answer": "useRequest", "#
                    + #""request": {"url": "\#(play.url("b"))"}}}"#),
            more: #""runAt": "2020-01-01T00:00:00Z""#)
        #expect(status(of: job) == 200)
        #expect(member(job, "response", "url") == play.url("b") && play.requests.count == 1)
    }

    // Proves: DLG-8.
    @Test(arguments: [("follow", "succeeded"), ("cancel", "cancelled")])
    func `the standard form of a URL is taken, or the job ended, by a rule`(_ word: String, _ state: String)
        async throws
    {
        let rig = try SharedService.current
        let play = rig.stage.play(answer())
        let job = try await rig.fetch(
            play.url("b/../a"),
            configuration: rules(#"{"name": "form", "on": "didCanonicalize", "answer": "\#(word)"}"#))
        #expect(member(job, "state") == state, "\(job)")
        #expect(play.requests.count == (word == "follow" ? 1 : 0))
        let decision = try await rig.decisions(of: job).first
        #expect(text(decision, "kind") == "didCanonicalize" && text(decision, "by", "rule") == "form")
    }

    // Nobody sends the stream.
    // Proves: DLG-8.
    @Test func `a body that was to be streamed is that of a rule`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer())
        let job = try await rig.fetch(
            play.url(), #""method": "POST", "body": {"stream": true}"#,
            configuration: rules(
                #"{"name": "own", "on": "needNewBodyStream", "#
                    + #""answer": {"answer": "useBody", "body": {"text": "mine"}}}"#),
            more: #""kind": "upload""#)
        #expect(status(of: job) == 200, "\(job)")
        #expect(play.requests.map(\.body) == [Array("mine".utf8)])
        #expect(text(try await rig.decisions(of: job).first, "by", "rule") == "own")
    }

    // Proves: DLG-8.
    @Test(arguments: [("image/png", "succeeded"), ("image/jpeg", "cancelled")])
    func `each part of a response is judged by the rules`(_ type: String, _ state: String) async throws {
        let rig = try SharedService.current
        let body =
            "--b\r\nContent-Type: text/plain\r\n\r\nfirst\r\n"
            + "--b\r\nContent-Type: image/jpeg\r\n\r\nlast\r\n--b--\r\n"
        let play = rig.stage.play(
            answer("200 OK", "Content-Type: multipart/x-mixed-replace; boundary=b", body: body))
        let job = try await rig.fetch(
            play.url(),
            configuration: rules(
                #"{"name": "no pictures", "on": "didReceiveResponse", "when": {"contentType": "\#(type)"}, "#
                    + #""answer": "cancel"}"#))
        #expect(member(job, "state") == state, "\(job)")
        if state == "succeeded" { #expect(member(job, "response", "part") == 2) }
        let decision = try await rig.decisions(of: job).last
        #expect(text(decision, "by", "rule") == (state == "cancelled" ? "no pictures" : nil))
    }

    @Test func `the HTTP Archive has the fields of every hop and attempt, as they were sent and received`() async throws
    {
        let rig = try SharedService.current
        let play = rig.stage.serve { number, connection in
            switch number {
            case 0: try connection.send(answer("503 Busy"))
            case 1:
                try connection.send(
                    "HTTP/1.1 302 Found\r\nLocation: b?sig=k3y\r\nX-Hop: 1\r\nContent-Length: 0\r\n\r\n")
            default:
                try connection.send("HTTP/1.1 200 OK\r\nX-Hop: 2\r\nSet-Cookie: a=k3y\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let job = try await rig.fetch(
            play.url("a"),
            #""headers": {"Authorization": "Bearer k3y", "X-Tag": ["1", "2"]}, "sensitive": ["query"]"#,
            configuration: #""request": {"recordsHeaders": true}, "#
                + #""retry": {"statuses": [503], "backoff": {"initial": 0.01}}"#)
        let id = try #require(member(job, "id", as: String.self))
        let har = try await rig.service.request(.get, "/v1/jobs/\(id)/har")
        let entries = member(har.json, "log", "entries", as: [[String: Any]].self) ?? []
        #expect(entries.count == 3 && play.requests.count == 3)
        for (entry, received) in zip(entries, play.requests) {
            let fields = member(entry, "request", "headers", as: [[String: Any]].self) ?? []
            let names = fields.compactMap { $0["name"] as? String }
            for name in names { #expect(received.head.contains("\r\n\(name): "), "\(name)") }
            #expect(received.head.split(separator: "\r\n").count - 1 == names.count, "\(received.head)")
            #expect(names.contains("Host") && names.filter { $0 == "X-Tag" }.count == 2)
            let values = fields.compactMap { $0["value"] as? String }
            #expect(values.contains("2") && values.contains("<redacted>"))
        }
        let hops = entries.map { entry in
            (member(entry, "response", "headers", as: [[String: Any]].self) ?? []).compactMap { field in
                field["name"] as? String == "X-Hop" ? field["value"] as? String : nil
            }
        }
        #expect(hops == [[], ["1"], ["2"]])
        let whole = try await rig.service.request(.get, "/v1/jobs/\(id)")
        #expect(!har.text.contains("k3y") && !whole.text.contains("k3y"))
        let plain = try await rig.fetch(play.url("a"))
        #expect(member(plain, "attempts", "0", "metrics", "0", "requestHeaders", as: [[String: Any]].self) == nil)
    }

    @Test func `the HTTP Archive tells what was decided`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.serve { _, connection in try connection.send(answer()) }
        let job = try await rig.fetch(
            play.url(), configuration: rules(#"{"name": "gate", "on": "didReceiveResponse", "answer": "allow"}"#))
        let id = try #require(member(job, "id", as: String.self))
        let har = try await rig.service.request(.get, "/v1/jobs/\(id)/har")
        #expect(member(har.json, "log", "_decisions", "0", "decisions", "0", "by", "rule") == "gate")
    }

    @Test func `what a job would come to is told, and nothing is sent`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.serve { _, connection in try connection.send(answer()) }
        let session = try await rig.makeSession(
            #"{"configuration": {"rules": [{"name": "s", "on": "didReceiveServerTrust", "answer": "reject"}]}}"#)
        let body = """
            {"request": {"url": "\(play.url("a/../b"))"}, "session": "\(session)", "configuration": {
              "redirects": {"allowedHosts": ["127.0.0.1"]},
              "rules": [{"name": "j", "on": "willPerformHTTPRedirection", "when": {"status": 301}, "answer": "cancel"}],
              "delegate": {"via": "api", "questions": ["didReceiveResponse"], "otherwise": {"didReceiveResponse": "cancel"}}
            }, "whatIf": [
              {"on": "willPerformHTTPRedirection", "to": "\(play.url("c"))", "status": 301},
              {"on": "willPerformHTTPRedirection", "to": "\(play.url("c"))"},
              {"on": "willPerformHTTPRedirection", "to": "https://elsewhere.example/", "status": 301},
              {"on": "didReceiveServerTrust", "error": "serverCertificateUntrusted"},
              {"on": "didReceiveResponse", "status": 500}
            ]}
            """
        let reply = try await rig.service.request(.post, "/v1/explain", body: body)
        try #require(reply.status == 200, "\(reply.text)")
        #expect(member(reply.json, "url") == play.url("b"))
        #expect(member(reply.json, "target", "allowed") == true)
        #expect(member(reply.json, "effectiveConfiguration", "rules", "0", "from") == "job")
        #expect(member(reply.json, "effectiveConfiguration", "rules", "1", "from") == "session")
        let events = member(reply.json, "whatIf", as: [[String: Any]].self) ?? []
        #expect(
            events.map { text($0, "by", "who") ?? "" } == [
                "rule", "configuration", "configuration", "rule", "delegate",
            ])
        #expect(text(events.first, "by", "rule") == "j" && text(events.first, "answer") == "cancel")
        #expect(events.count == 5 && text(events[2], "error") == "redirectTargetForbidden")
        #expect(text(events[3], "by", "from") == "session")
        #expect(text(events[4], "otherwise") == "cancel")
        #expect(play.requests.isEmpty)
        let wrong = try await rig.service.request(
            .post, "/v1/explain",
            body: #"{"request": {"url": "http://a.example/"}, "whatIf": [{"on": "didCanonicalize"}]}"#)
        #expect(wrong.status == 422 && member(wrong.json, "errors", "0", "pointer") == "/whatIf/0/to")
        let forbidden = try await rig.service.request(
            .post, "/v1/explain", body: #"{"request": {"url": "http://10.0.0.1/"}}"#)
        #expect(member(forbidden.json, "target", "allowed") == false)
    }

    @Test func `a rule that names what is not there is refused, by its pointer`() async throws {
        let rig = try SharedService.current
        for (configuration, pointer) in [
            (
                #"{"rules": [{"on": "didReceiveChallenge", "answer": {"answer": "useCredential", "#
                    + #""credential": "crd_01jd3v8m5qf0t8n4r6w2y9bcde"}}]}"#,
                "/configuration/rules/0/answer/credential"
            ),
            (
                #"{"delegate": {"via": "webhook", "endpoint": "whe_01jd3v8m5qf0t8n4r6w2y9bcde", "questions": []}}"#,
                "/configuration/delegate/endpoint"
            ),
            (
                #"{"rules": [{"on": "didCanonicalize", "when": {"status": 1}, "answer": "follow"}]}"#,
                "/configuration/rules/0/when/status"
            ),
        ] {
            let answer = try await rig.service.request(
                .post, "/v1/jobs",
                body: #"{"request": {"url": "https://a.example/"}, "configuration": \#(configuration)}"#)
            #expect(answer.status == 422)
            #expect(member(answer.json, "errors", "0", "pointer") == pointer, "\(answer.text)")
        }
    }

    // Proves: CCH-14.
    @Test func `a download with a rule for storing is refused`() async throws {
        let rig = try SharedService.current
        let answer = try await rig.service.request(
            .post, "/v1/jobs",
            body: #"{"kind": "download", "request": {"url": "https://a.example/"}, "#
                + #""configuration": {"rules": [{"on": "willCacheResponse", "answer": "doNotStore"}]}}"#)
        #expect(answer.status == 422)
        #expect(member(answer.json, "errors", "0", "pointer") == "/configuration/rules/0/on")
    }
}

/// Rules about challenges, at Apache httpd and nginx.
@Suite(
    .enabled(if: LoopbackServer.hasApache(modules: "auth_digest", "dav")),
    .sharedService { ["apache": try await .apache(), "nginx": try await .nginxCave()] })
struct RuleChallengeTests {
    /// Stores a credential for a server and gives its id.
    private func credential(_ rig: Rig, for server: LoopbackServer, session: String) async throws -> String {
        let body =
            #"{"session": "\#(session)", "persistence": "forSession", "isDefault": false, "user": "\#(Cave.user)", "#
            + #""password": "\#(Cave.password)", "protectionSpace": {"host": "127.0.0.1", "port": \#(server.port), "#
            + #""protocol": "http", "authenticationMethod": "httpDigest"}}"#
        let answer = try await rig.service.request(.post, "/v1/credentials", body: body)
        return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
    }

    // Proves: DLG-8.
    @Test func `a rule shows a stored credential, and only where it is stored for`() async throws {
        let rig = try SharedService.current
        let session = try await rig.makeSession()
        let apache = try rig.server("apache")
        let id = try await credential(rig, for: apache, session: session)
        let rule = rules(
            #"{"on": "didReceiveChallenge", "when": {"authenticationMethod": ["httpDigest", "httpBasic"]}, "#
                + #""answer": {"answer": "useCredential", "credential": "\#(id)"}}"#)
        let job = try await rig.fetch(apache.url("/digest/page"), configuration: rule, session: session)
        #expect(status(of: job) == 200)
        #expect(try await rig.text(of: job) == Cave.treasure)
        let decision = try await rig.decisions(of: job).first
        #expect(text(decision, "kind") == "didReceiveChallenge" && text(decision, "answer", "credential") == id)
        let elsewhere = try await rig.fetch(
            try rig.server("nginx").url("/basic/page"), configuration: rule, session: session)
        #expect(status(of: elsewhere) == 401)
        #expect(text(try await rig.decisions(of: elsewhere).first, "refusal")?.contains("credentialOutOfSpace") == true)
    }

    // Proves: AUT-18, AUT-17.
    @Test(arguments: [("continueWithoutCredential", 401, "succeeded"), ("cancel", 0, "failed")])
    func `a rule goes on without, or ends the job`(_ word: String, _ code: Int, _ state: String) async throws {
        let rig = try SharedService.current
        let job = try await rig.fetch(
            try rig.server("apache").url("/basic/page"),
            configuration: rules(#"{"on": "didReceiveChallenge", "answer": "\#(word)"}"#))
        #expect(member(job, "state") == state)
        if code > 0 {
            #expect(status(of: job) == code)
        } else {
            #expect(errorName(of: job) == "userCancelledAuthentication")
        }
    }

    @Test func `a method that the job does not allow is not asked about`() async throws {
        let rig = try SharedService.current
        let job = try await rig.fetch(
            try rig.server("apache").url("/basic/page"),
            configuration: rules(#"{"on": "didReceiveChallenge", "answer": "cancel"}"#)
                + #", "authentication": {"methods": ["digest"]}"#)
        #expect(status(of: job) == 401)
        #expect(try await rig.decisions(of: job).isEmpty)
    }
}

/// Rules about certificates, at nginx with one that nobody vouches for.
@Suite(
    .sharedService {
        let authority = try await TestAuthority()
        let leaf = try await authority.issue("s", selfSigned: true)
        return ["selfSigned": try await .nginxTLS(leaf, chain: [], directives: [])]
    })
struct RuleTrustTests {
    // Proves: DLG-8.
    @Test func `a chain is accepted or rejected by a rule, and refused without one`() async throws {
        let rig = try SharedService.current
        let url = "https://127.0.0.1:\(try rig.server("selfSigned").port)/"
        let plain = try await rig.fetch(url)
        let error = errorName(of: plain)
        #expect(error == "serverCertificateHasUnknownRoot")
        let accept = rules(
            #"{"name": "lab", "on": "didReceiveServerTrust", "when": {"trustError": "\#(error ?? "")"}, "#
                + #""answer": "accept"}"#)
        let accepted = try await rig.fetch(url, configuration: accept)
        #expect(status(of: accepted) != nil)
        let decision = try await rig.decisions(of: accepted).first
        #expect(text(decision, "by", "rule") == "lab" && text(decision, "facts", "error") == error)
        let rejected = try await rig.fetch(
            url, configuration: rules(#"{"on": "didReceiveServerTrust", "answer": "reject"}"#))
        #expect(errorName(of: rejected) == error)
    }

    // RFC 6797 §12.1
    @Test func `of a host that wants strict transport no chain is accepted`() async throws {
        let rig = try SharedService.current
        let url = "https://localhost:\(try rig.server("selfSigned").port)/"
        let job = try await rig.fetch(
            url,
            configuration: rules(#"{"on": "didReceiveServerTrust", "answer": "accept"}"#)
                + #", "tls": {"strictTransport": ["localhost"]}"#)
        #expect(member(job, "state") == "failed")
        #expect(try await rig.decisions(of: job).isEmpty)
    }

    // Proves: AUT-9, AUT-11.
    @Test func `the session's rule about a chain goes before the job's`() async throws {
        let rig = try SharedService.current
        let session = try await rig.makeSession(
            #"{"configuration": {"rules": [{"on": "didReceiveServerTrust", "answer": "accept"}]}}"#)
        let url = "https://127.0.0.1:\(try rig.server("selfSigned").port)/"
        let job = try await rig.fetch(
            url, configuration: rules(#"{"on": "didReceiveServerTrust", "answer": "reject"}"#), session: session)
        #expect(status(of: job) != nil)
        #expect(text(try await rig.decisions(of: job).first, "by", "from") == "session")
    }
}
