import FetchJobs
import FetchdClient
import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

private func reply(_ json: String, status: String = "200 OK") -> String {
    "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nContent-Length: \(json.utf8.count)\r\n\r\n\(json)"
}

extension LoopbackServer {
    /// The rule by which the address guard opens it.
    fileprivate var rule: String { "127.0.0.1:\(port)" }
}

/// nginx, whose `/go` redirects to `/a`.
private func redirecting() async throws -> LoopbackServer {
    try await LoopbackServer.nginx(
        in: try TemporaryDirectory(),
        """
        absolute_redirect off; location = /go { return 302 /a; } location = /a { return 200 "here"; }
        """)
}

/// Loads ask their delegates, who answer by the API.
@Suite struct DelegateTests {
    private static let redirection = #"["willPerformHTTPRedirection"]"#

    // Proves: DLG-1.
    @Test(arguments: [("follow", 200), ("returnResponse", 302), ("performDefaultHandling", 200)])
    func `a redirect waits for an answer, and the job goes on by it`(_ word: String, _ code: Int) async throws {
        let origin = try await redirecting()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let id = try await service.submit(origin.url("/go"), asking: Self.redirection)
            let question = try await service.question(of: id)
            let waiting = try await service.request(.get, "/v1/jobs/\(id)").json
            #expect(member(waiting, "state") == "awaitingDecision")
            #expect(member(waiting, "waitingFor") == member(question, "id", as: String.self))
            #expect(member(question, "facts", "proposed", "url") == origin.url("/a"))
            #expect(member(question, "facts", "response", "status") == 302)
            #expect(member(question, "facts", "hop") == 1)
            let answered = try await service.answer(question, #"{"answer": "\#(word)", "note": "as I see it"}"#)
            #expect(answered.status == 200 && member(answered.json, "state") == "answered", "\(answered.text)")
            #expect(member(answered.json, "by", "who") == "key" && member(answered.json, "note") == "as I see it")
            let job = try await service.end(of: id)
            #expect(member(job, "response", "status") == code, "\(job)")
        }
    }

    @Test func `a redirect that is answered with cancel ends the job`() async throws {
        let origin = try await redirecting()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let id = try await service.submit(origin.url("/go"), asking: Self.redirection)
            _ = try await service.answer(try await service.question(of: id), #""cancel""#)
            #expect(member(try await service.end(of: id), "state") == "cancelled")
        }
    }

    // Proves: DLG-4, DLG-5.
    @Test func `what nobody answers in time is decided as the job says otherwise`() async throws {
        let origin = try await redirecting()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let more = #", "otherwise": {"willPerformHTTPRedirection": "returnResponse"}"#
            let delegate = #""delegate": {"via": "api", "questions": \#(Self.redirection), "timeout": 1\#(more)}"#
            let body = #"{"request": {"url": "\#(origin.url("/go"))"}, "configuration": {\#(delegate)}}"#
            let answer = try await service.request(.post, "/v1/jobs", body: body)
            let id = try #require(member(answer.json, "id", as: String.self))
            let question = try await service.question(of: id)
            #expect(member(try await service.end(of: id), "response", "status") == 302)
            let late = try await service.answer(question, #""follow""#)
            #expect(late.status == 410 && member(late.json, "code") == "questionClosed", "\(late.text)")
            let closed = try await service.request(
                .get, "/v1/questions/\(try #require(member(question, "id", as: String.self)))")
            #expect(member(closed.json, "reason") == "expired")
        }
    }

    /// A question that nobody answers.
    private struct Silence: Sendable {
        let kind: String
        var path = "/a"
        /// Further members of the job's configuration, which end those of the delegate.
        var configuration = ""
        var request = ""
        var job = ""
        /// Of what its job comes to.
        let holds: @Sendable ([String: Any]) -> Bool
    }

    private static let silences = [
        Silence(kind: "willPerformHTTPRedirection", path: "/go", configuration: #""redirects": {"policy": "return""#) {
            member($0, "response", "status") == 302
        },
        Silence(kind: "didReceiveChallenge", path: "/closed") { member($0, "response", "status") == 401 },
        Silence(kind: "didReceiveResponse") { member($0, "body", "bytes") == 4 },
        Silence(kind: "willCacheResponse", path: "/kept") { member($0, "state") == "succeeded" },
        Silence(
            kind: "needNewBodyStream",
            configuration: #""retry": {"maximumAttempts": 1}, "timeouts": {"timeoutIntervalForRequest": 1"#,
            request: #", "method": "POST", "body": {"stream": true}"#, job: #", "kind": "upload""#
        ) { member($0, "state") == "failed" && member($0, "error", "name") == "timedOut" },
        Silence(kind: "decideDestination", job: #", "kind": "download""#) {
            member($0, "file", "filename", as: String.self) == member($0, "response", "suggestedFilename")
        },
        Silence(kind: "shouldDecodeSourceData", path: "/a.gz", job: #", "kind": "download""#) {
            member($0, "file", "filename") == "a.gz" && member($0, "body", "bytes") == archive.count
        },
    ]

    private static let archive = Data(base64Encoded: "H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA==") ?? Data()

    // The configuration decides: a body is waited for no longer than the request's interval, a file is not decoded.
    // Proves: DLG-5.
    @Test func `every kind of question has its limit of time, and what holds then`() async throws {
        let directory = try TemporaryDirectory()
        try directory.write(Array(Self.archive), to: "root/a.gz")
        let origin = try await LoopbackServer.nginx(
            in: directory,
            """
            absolute_redirect off; types { application/gzip gz; }
            location = /go { return 302 /a; } location = /a { return 200 "here"; }
            location = /kept { add_header Cache-Control max-age=60; return 200 "kept"; }
            location = /closed { add_header WWW-Authenticate 'Basic realm="r"' always; return 401; }
            """)
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            var jobs: [(Silence, String)] = []
            for silence in Self.silences {
                let more = silence.configuration.isEmpty ? "" : #", "otherwise": {}}, \#(silence.configuration)"#
                jobs.append(
                    (
                        silence,
                        try await service.submit(
                            origin.url(silence.path), asking: #"["\#(silence.kind)"]"#, more, timeout: 1,
                            request: silence.request, spec: silence.job)
                    ))
            }
            for (silence, id) in jobs {
                let job = try await service.end(of: id)
                #expect(silence.holds(job), "\(silence.kind) \(job)")
                let list = try await service.request(.get, "/v1/jobs/\(id)/questions").json
                let question = try #require(member(list, "data", "0", as: [String: Any].self), "\(silence.kind)")
                #expect(member(question, "kind") == silence.kind && member(question, "reason") == "expired")
                let explained = try await service.request(.get, "/v1/jobs/\(id)/explain").json
                let by = member(explained, "attempts", "0", "decisions", "0", "by", as: [String: Any].self) ?? [:]
                #expect(member(by, "who") == "otherwise" && member(by, "reason") == "timeout", "\(explained)")
            }
            let again = try await service.fetch(origin.url("/kept"))
            #expect(member(again, "response", "fromCache") == true, "stored as the session's policy says: \(again)")
        }
    }

    // Proves: DLG-4.
    @Test func `the first answer counts, and what breaks a limit is none`() async throws {
        let origin = try await redirecting()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let id = try await service.submit(origin.url("/go"), asking: Self.redirection)
            let question = try await service.question(of: id)
            let unknown = try await service.answer(question, #""allow""#)
            #expect(unknown.status == 422 && member(unknown.json, "code") == "invalidInput", "\(unknown.text)")
            let guarded = try await service.answer(
                question, #"{"answer": "follow", "request": {"url": "http://10.0.0.1/"}}"#)
            #expect(guarded.status == 422 && member(guarded.json, "code") == "answerNotAllowed")
            #expect(member(guarded.json, "errors", "0", "pointer") == "/request/url", "\(guarded.text)")
            #expect(try await service.answer(question, #""returnResponse""#).status == 200)
            #expect(try await service.answer(question, #"{"answer": "returnResponse"}"#).status == 200)
            let other = try await service.answer(question, #""cancel""#)
            #expect(other.status == 409 && member(other.json, "code") == "alreadyAnswered", "\(other.text)")
            #expect(member(try await service.end(of: id), "response", "status") == 302)
        }
    }

    @Test func `cancelling a job withdraws its question`() async throws {
        let origin = try await redirecting()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let id = try await service.submit(origin.url("/go"), asking: Self.redirection)
            let question = try await service.question(of: id)
            _ = try await service.request(.post, "/v1/jobs/\(id)/cancel")
            #expect(member(try await service.end(of: id), "state") == "cancelled")
            let path = "/v1/questions/\(try #require(member(question, "id", as: String.self)))"
            try await until { member(try await service.request(.get, path).json, "reason") == "withdrawn" }
        }
    }

    // Proves: DLG-1, DLG-7, AUT-10.
    @Test(.enabled(if: LoopbackServer.hasApache(modules: "auth_digest", "dav")))
    func `httpd lets in with the credential of an answer, which is shown to nobody`() async throws {
        let origin = try await LoopbackServer.apache()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let id = try await service.submit(origin.url("/basic/page"), asking: #"["didReceiveChallenge"]"#)
            let question = try await service.question(of: id)
            #expect(member(question, "facts", "protectionSpace", "authenticationMethod") == "httpBasic")
            let login = #"{"user": "\#(Cave.user)", "password": "\#(Cave.password)"}"#
            let answer = try await service.answer(
                question, #"{"answer": "useCredential", "credential": \#(login)}"#)
            #expect(answer.status == 200 && !answer.text.contains(Cave.password), "\(answer.text)")
            #expect(member(try await service.end(of: id), "response", "status") == 200)
            #expect(!service.logged.contains(Cave.password))
        }
    }

    // Proves: DLG-1.
    @Test(.enabled(if: LoopbackServer.installed("squid") != nil))
    func `squid lets through with the credential of an answer`() async throws {
        let (origin, squid) = (try await redirecting(), try await LoopbackServer.squid(users: ["cave:sesame12"]))
        try await ServiceProcess.with(allowing: [origin.rule, squid.rule]) { service in
            let id = try await service.submit(
                origin.url("/a"), asking: #"["didReceiveChallenge"]"#,
                configuration: #", "proxy": {"url": "http://127.0.0.1:\#(squid.port)"}"#)
            let question = try await service.question(of: id)
            #expect(member(question, "facts", "protectionSpace", "isProxy") == true, "\(question)")
            #expect(member(question, "facts", "protectionSpace", "port") == Int(squid.port))
            #expect(member(question, "facts", "failureResponse", "status") == 407)
            let login = #"{"user": "cave", "password": "sesame12"}"#
            let answer = try await service.answer(
                question, #"{"answer": "useCredential", "credential": \#(login)}"#)
            #expect(answer.status == 200 && !answer.text.contains("sesame12"), "\(answer.text)")
            #expect(member(try await service.end(of: id), "response", "status") == 200)
        }
    }

    // Proves: DLG-1, AUT-28.
    @Test(arguments: [("accept", "succeeded"), ("reject", "failed")])
    func `a chain that nobody vouches for is accepted or not`(_ word: String, _ state: String) async throws {
        let origin = try TLSOrigin()
        let rule = "127.0.0.1:\(origin.port)"
        try await ServiceProcess.with(allowing: [rule]) { service in
            let id = try await service.submit("https://\(rule)/", asking: #"["didReceiveServerTrust"]"#)
            let question = try await service.question(of: id)
            #expect(member(question, "facts", "verdict") == "rejected")
            let chain = member(question, "facts", "chain", as: [[String: Any]].self) ?? []
            #expect(chain.count == 1 && (chain.first?["pem"] as? String)?.contains("BEGIN CERTIFICATE") == true)
            #expect((chain.first?["subject"] as? String)?.contains("localhost") == true)
            #expect(try await service.answer(question, "\"\(word)\"").status == 200)
            #expect(member(try await service.end(of: id), "state") == state)
        }
    }

    // Proves: LIF-3.
    @Test func `a chain is asked about before the response is`() async throws {
        let origin = try TLSOrigin()
        let rule = "127.0.0.1:\(origin.port)"
        try await ServiceProcess.with(allowing: [rule]) { service in
            let id = try await service.submit(
                "https://\(rule)/", asking: #"["didReceiveResponse", "didReceiveServerTrust"]"#)
            for (kind, word) in [("didReceiveServerTrust", "accept"), ("didReceiveResponse", "allow")] {
                let question = try await service.question(of: id)
                #expect(member(question, "kind") == kind)
                #expect(try await service.answer(question, "\"\(word)\"").status == 200)
            }
            #expect(member(try await service.end(of: id), "state") == "succeeded")
        }
    }

    // Also where the redirect leads: the next server shows a chain of its own.
    // Proves: LIF-3.
    @Test func `a chain is asked about before a redirect, at each server anew`() async throws {
        let authority = try await TestAuthority()
        let target = try await LoopbackServer.nginxTLS(try await authority.issue("target"))
        let origin = try await LoopbackServer.nginxTLS(
            try await authority.issue("origin"),
            directives: ["location = /go { return 302 https://\(target.rule)/; }"])
        try await ServiceProcess.with(allowing: [origin.rule, target.rule]) { service in
            let kinds = ["didReceiveServerTrust", "willPerformHTTPRedirection", "didReceiveResponse"]
            let id = try await service.submit(
                "https://\(origin.rule)/go", asking: "[\(kinds.map { "\"\($0)\"" }.joined(separator: ", "))]")
            let answers = [
                (kinds[0], "accept", origin), (kinds[1], "follow", origin), (kinds[0], "accept", target),
                (kinds[2], "allow", target),
            ]
            for (kind, word, server) in answers {
                let question = try await service.question(of: id)
                #expect(member(question, "kind") == kind)
                #expect(member(question, "request", "url", as: String.self)?.contains(server.rule) == true)
                #expect(try await service.answer(question, "\"\(word)\"").status == 200)
            }
            #expect(member(try await service.end(of: id), "state") == "succeeded")
            let told = try await service.request(.get, "/v1/jobs/\(id)/questions")
            #expect(member(told.json, "data", as: [Any].self)?.count == answers.count)
        }
    }

    // Proves: BKG-13.
    @Test(.enabled(if: LoopbackServer.hasApache(modules: "auth_digest", "dav")))
    func `a job of a background session waits for the answer to its challenge`() async throws {
        let origin = try await LoopbackServer.apache()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let made = try await service.request(
                .post, "/v1/sessions",
                body: #"{"kind": "background", "identifier": "mine", "webhook": {"url": "\#(origin.url("/hook"))"}}"#)
            let session = try #require(member(made.json, "id", as: String.self), "\(made.text)")
            let id = try await service.submit(
                origin.url("/basic/page"), asking: #"["didReceiveChallenge"]"#,
                spec: #", "kind": "download", "session": "\#(session)""#)
            let question = try await service.question(of: id)
            let login = #"{"user": "\#(Cave.user)", "password": "\#(Cave.password)"}"#
            let answer = #"{"answer": "useCredential", "credential": \#(login)}"#
            #expect(try await service.answer(question, answer).status == 200)
            #expect(member(try await service.end(of: id), "response", "status") == 200)
        }
    }

    // Proves: DLG-1, LIF-6.
    @Test(arguments: ["allow", "becomeDownload", "cancel"])
    func `a response waits for its disposition`(_ word: String) async throws {
        let origin = try await redirecting()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let id = try await service.submit(origin.url("/a"), asking: #"["didReceiveResponse"]"#)
            let question = try await service.question(of: id)
            #expect(member(question, "facts", "response", "status") == 200)
            #expect(try await service.answer(question, "\"\(word)\"").status == 200)
            let job = try await service.end(of: id)
            #expect(member(job, "state") == (word == "cancel" ? "cancelled" : "succeeded"), "\(job)")
            #expect((job["file"] != nil) == (word == "becomeDownload"))
        }
    }

    // Proves: DLG-6.
    @Test func `the time of the request stands still while an answer is waited for`() async throws {
        let origin = try await redirecting()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let times =
                #", "otherwise": {}}, "timeouts": {"timeoutIntervalForRequest": 1"#
            let id = try await service.submit(origin.url("/go"), asking: Self.redirection, times)
            let question = try await service.question(of: id)
            // Its interval passes.
            try await Task.sleep(for: .seconds(1.5))
            #expect(try await service.answer(question, #""follow""#).status == 200)
            let job = try await service.end(of: id)
            #expect(member(job, "response", "status") == 200, "\(job)")
        }
    }

    // Proves: DLG-1, DLD-3.
    @Test func `a download gets the name that is answered`() async throws {
        let origin = try await redirecting()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let id = try await service.submit(
                origin.url("/a"), asking: #"["decideDestination"]"#, spec: #", "kind": "download""#)
            let question = try await service.question(of: id)
            #expect(member(question, "facts", "suggestedFilename", as: String.self) != nil)
            let taken = try await service.answer(question, #"{"answer": "use", "filename": "mine.txt"}"#)
            #expect(taken.status == 200, "\(taken.text)")
            #expect(member(try await service.end(of: id), "file", "filename") == "mine.txt")
        }
    }

    // Proves: DLG-1, BEY-3.
    @Test(arguments: [("continueLoading", "succeeded"), ("cancel", "cancelled")])
    func `a delayed job asks when its time has come`(_ word: String, _ state: String) async throws {
        let origin = try await redirecting()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let time = Timestamp.now.advanced(by: .seconds(1))
            let id = try await service.submit(
                origin.url("/a"), asking: #"["willBeginDelayedRequest"]"#, spec: #", "runAt": "\#(time)""#)
            let question = try await service.question(of: id)
            #expect(try await service.answer(question, "\"\(word)\"").status == 200)
            #expect(member(try await service.end(of: id), "state") == state)
        }
    }

    // Proves: DLG-1.
    @Test func `a body that was to be streamed is the answer's`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                let body = try connection.receive(length)
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n")
                try connection.send(body)
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let delegate = #""delegate": {"via": "api", "questions": ["needNewBodyStream"], "timeout": 60}"#
            let request = #"{"url": "\#(origin.url("/up"))", "method": "POST", "body": {"stream": true}}"#
            let answer = try await service.request(
                .post, "/v1/jobs", body: #"{"kind": "upload", "request": \#(request), "configuration": {\#(delegate)}}"#
            )
            let id = try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
            let question = try await service.question(of: id)
            #expect(member(question, "facts", "reason") == "first")
            let given = try await service.answer(question, #"{"answer": "useBody", "body": {"text": "mine"}}"#)
            #expect(given.status == 200, "\(given.text)")
            _ = try await service.end(of: id)
            #expect(try await service.request(.get, "/v1/jobs/\(id)/body").text == "mine")
        }
    }

    // Proves: DLG-1, LIF-11, CCH-11, CCH-15.
    @Test func `a response is stored or not as is answered`() async throws {
        let requests = Mutex(0)
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                requests.withLock { $0 += 1 }
                try connection.send(
                    "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 1\r\n\r\nx")
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            for (word, count) in [("doNotStore", 1), ("store", 2), ("", 2)] {
                let id = try await service.submit(
                    origin.url("/a"), asking: word.isEmpty ? "[]" : #"["willCacheResponse"]"#)
                if !word.isEmpty {
                    let question = try await service.question(of: id)
                    #expect(member(question, "facts", "storagePolicy") == "allowed")
                    #expect(try await service.answer(question, "\"\(word)\"").status == 200)
                }
                #expect(member(try await service.end(of: id), "state") == "succeeded")
                #expect(requests.withLock { $0 } == count, "\(word)")
            }
        }
    }

    // The whole body has come, and the job goes on to its end.
    // Proves: LIF-11.
    @Test func `whether a response is stored is asked behind its data and before the end`() async throws {
        let (half, gate) = (String(repeating: "x", count: 100_000), Gate())
        defer { gate.open() }
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send(
                    "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 200000\r\n\r\n\(half)")
                try gate.wait()
                try connection.send(half)
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let id = try await service.submit(origin.url("/a"), asking: #"["willCacheResponse"]"#)
            _ = try await service.job(id) { member($0, "progress", "bytesReceived") == 100_000 }
            let path = "/v1/jobs/\(id)/questions"
            #expect(member(try await service.request(.get, path).json, "data", as: [Any].self)?.isEmpty == true)
            gate.open()
            let question = try await service.question(of: id)
            #expect(member(question, "facts", "bodyBytes") == 200_000)
            let job = try await service.request(.get, "/v1/jobs/\(id)").json
            #expect(member(job, "state") == "awaitingDecision" && member(job, "progress", "bytesReceived") == 200_000)
            #expect(try await service.answer(question, #""store""#).status == 200)
            #expect(member(try await service.end(of: id), "body", "bytes") == 200_000)
        }
    }

    // The head of the whole is asked about first, and then that of each part.
    // Proves: LIF-16.
    @Test(arguments: ["allow", "cancel"])
    func `each part of a response is asked about when it comes`(_ word: String) async throws {
        let parts = ["text/plain", "text/html"]
        let body = parts.map { "--b\r\nContent-Type: \($0)\r\n\r\n\($0)\r\n" }.joined() + "--b--\r\n"
        let origin = try WireOrigin(
            playing: "HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=b\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let id = try await service.submit(origin.url(), asking: #"["didReceiveResponse"]"#)
            for part in 0...parts.count {
                let question = try await service.question(of: id)
                #expect(member(question, "kind") == "didReceiveResponse")
                #expect(member(question, "facts", "part") == (part == 0 ? nil : part), "\(question)")
                if part > 0 {
                    #expect(member(question, "facts", "response", "mimeType") == parts[part - 1])
                }
                let answer = part < parts.count ? "allow" : word
                #expect(try await service.answer(question, "\"\(answer)\"").status == 200)
            }
            let job = try await service.end(of: id)
            #expect(member(job, "state") == (word == "cancel" ? "cancelled" : "succeeded"), "\(job)")
            #expect(member(job, "response", "part") == (word == "cancel" ? nil : parts.count))
        }
    }

    @Test func `one answer is given to all that ask alike, and not to what was asked since`() async throws {
        let origin = try await redirecting()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            var jobs: [String] = []
            // Each load keeps its connection while it asks.
            let many = #", "otherwise": {}}, "connections": {"maximumPerHost": 64"#
            for _ in 0..<20 {
                jobs.append(try await service.submit(origin.url("/go"), asking: Self.redirection, many))
            }
            for job in jobs { _ = try await service.question(of: job) }
            let order = #""filter": {"kind": "willPerformHTTPRedirection"}, "answer": "returnResponse""#
            let dry = try await service.request(.post, "/v1/questions/actions", body: "{\(order), \"dryRun\": true}")
            #expect(member(dry.json, "matched") == 20 && member(dry.json, "changed") == 20, "\(dry.text)")
            let time = try #require(member(dry.json, "askedBefore", as: String.self))
            let later = try await service.submit(origin.url("/go"), asking: Self.redirection, many)
            let question = try await service.question(of: later)
            let missing = try await service.request(.post, "/v1/questions/actions", body: "{\(order)}")
            #expect(missing.status == 422 && missing.text.contains("/askedBefore"))
            let done = try await service.request(
                .post, "/v1/questions/actions", body: "{\(order), \"askedBefore\": \"\(time)\"}")
            #expect(member(done.json, "changed") == 20, "\(done.text)")
            for job in jobs { #expect(member(try await service.end(of: job), "response", "status") == 302) }
            #expect(try await service.answer(question, #""follow""#).status == 200)
            #expect(member(try await service.end(of: later), "response", "status") == 200)
        }
    }

    @Test func `the question of a node that is lost is superseded where its load cannot be left, and is asked anew`()
        async throws
    {
        let origin = try await redirecting()
        let settings = ["WORKER_LEASE_SECONDS": "2"]
        try await ServiceProcess.Place.with(allowing: [origin.rule], settings: settings) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let id = try await first.submit(origin.url("/go"), asking: #"["didReceiveResponse"]"#)
            let question = try await first.question(of: id)
            let second = try await ServiceProcess.start(place.apart, key: key)
            first.send(SIGKILL)
            _ = try await first.waitForEnd()
            let path = "/v1/questions/\(try #require(member(question, "id", as: String.self)))"
            try await until { member(try await second.request(.get, path).json, "reason") == "superseded" }
            let again = try await second.question(of: id)
            #expect(member(again, "id") != member(question, "id", as: String.self))
            #expect(try await second.answer(again, #""allow""#).status == 200)
            #expect(member(try await second.end(of: id), "response", "status") == 200)
            #expect(try await second.stop() == 0)
        }
    }

    @Test func `an answer that another node takes reaches the load within a second or so`() async throws {
        let origin = try await redirecting()
        try await ServiceProcess.Place.with(allowing: [origin.rule]) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let id = try await first.submit(origin.url("/go"), asking: Self.redirection)
            let question = try await first.question(of: id)
            let second = try await ServiceProcess.start(place.apart, key: key)
            #expect(try await second.answer(question, #""follow""#).status == 200)
            #expect(member(try await first.end(of: id), "response", "status") == 200)
            #expect(try await second.stop() == 0)
            #expect(try await first.stop() == 0)
        }
    }
}

/// Loads ask endpoints, which answer in their replies.
@Suite struct DelegateEndpointTests {
    private static let redirection = #"["willPerformHTTPRedirection"]"#

    /// Has a job ask a receiver that replies so.
    private func ask(
        _ replies: [String], _ more: String = "",
        _ body: (ServiceProcess, _ job: String, WebhookReceiver, WebhookSecret) async throws -> Void
    ) async throws {
        let origin = try await redirecting()
        let receiver = try WebhookReceiver(answers: replies)
        try await ServiceProcess.with(allowing: [origin.rule, receiver.rule]) { service in
            let (endpoint, secret) = try await receiver.endpoint(of: service)
            let id = try await service.submit(
                origin.url("/go"), asking: Self.redirection, more,
                via: #""via": "webhook", "endpoint": "\#(endpoint)""#)
            try await body(service, id, receiver, secret)
        }
    }

    // Proves: DLG-2, DLG-3.
    @Test func `the reply is the answer, to a message that is signed and named by the question`() async throws {
        try await ask([reply(#"{"answer": "returnResponse"}"#)]) { service, id, receiver, secret in
            let message = try await receiver.next()
            #expect(try message.isSigned(with: secret))
            let json = try #require(try JSONSerialization.jsonObject(with: Data(message.body)) as? [String: Any])
            #expect(member(json, "type") == "job.question" && member(json, "data", "job") == id)
            #expect(member(json, "data", "id") == message["webhook-id"])
            #expect(member(try await service.end(of: id), "response", "status") == 302)
            let list = try await service.request(.get, "/v1/jobs/\(id)/questions")
            #expect(member(list.json, "data", "0", "by", "who") == "delegate", "\(list.text)")
        }
    }

    // The endpoint itself wants to hear of everything; the second job has it.
    // Proves: TSK-11.
    @Test func `a job can have its last message and the needed decisions sent, and nothing else`() async throws {
        let origin = try await redirecting()
        let receiver = try WebhookReceiver(answers: [reply(#""follow""#)])
        try await ServiceProcess.with(allowing: [origin.rule, receiver.rule]) { service in
            let (endpoint, _) = try await receiver.endpoint(of: service)
            let all = ["job.started", "job.redirected", "job.response", "job.finished"]
            let changed = try await service.request(
                .patch, "/v1/webhooks/endpoints/\(endpoint)",
                body: #"{"events": [\#(all.map { "\"\($0)\"" }.joined(separator: ", "))]}"#,
                headers: [.contentType: "application/merge-patch+json"])
            #expect(changed.status == 200, "\(changed.text)")
            for (events, messages) in [
                (#", "events": ["job.finished"]"#, ["job.question", "job.finished"]), ("", all + ["job.question"]),
            ] {
                let id = try await service.submit(
                    origin.url("/go"), asking: Self.redirection, via: #""via": "webhook", "endpoint": "\#(endpoint)""#,
                    spec: #", "webhook": {"endpoint": "\#(endpoint)"\#(events)}"#)
                #expect(member(try await service.end(of: id), "response", "status") == 200)
                var told: [String] = []
                // The end is the last that a job tells; a question does not wait for what was told before it.
                while told.count < messages.count {
                    let message = try await receiver.next()
                    let object = try JSONSerialization.jsonObject(with: Data(message.body))
                    let json = try #require(object as? [String: Any])
                    told.append(try #require(member(json, "type", as: String.self)))
                    let job = member(json, "data", "job", "id", as: String.self)
                    #expect(job ?? member(json, "data", "job") == id)
                }
                #expect(events.isEmpty ? told.sorted() == messages.sorted() : told == messages, "\(told)")
            }
        }
    }

    // The message is one that the service has sent; its receiver verifies it as those do who use the client's library.
    // Proves: DLG-3.
    @Test func `a message that is replayed later, or under another id, is refused, and so is a second answer`()
        async throws
    {
        let later = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
        try await ask([later]) { service, id, receiver, secret in
            let message = try await receiver.next()
            func verify(
                after seconds: Double = 0, _ changed: String = "", to value: String = ""
            ) throws -> FetchdError.Code? {
                var headers = HTTPFields()
                for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
                    headers[try #require(HTTPField.Name(name))] = name == changed ? value : message[name]
                }
                do throws(FetchdError) {
                    let read = try verifyWebhook(
                        secrets: [secret.revealed], headers: headers, body: message.body, now: Date.now + seconds)
                    #expect(read.type == "job.question" && read.id == message["webhook-id"])
                    return nil
                } catch { return error.code }
            }
            #expect(try verify() == nil)
            #expect(try verify(after: 400) == .signatureInvalid)
            #expect(try verify("webhook-id", to: "qst_01jd3v8m5qf0t8n4r6w2y9bcde") == .signatureInvalid)
            let now = String(Int(Date.now.timeIntervalSince1970) + 1)
            #expect(try verify("webhook-timestamp", to: now) == .signatureInvalid)
            let question = try await service.question(of: id)
            #expect(try await service.answer(question, #""returnResponse""#).status == 200)
            #expect(member(try await service.end(of: id), "response", "status") == 302)
            // Who believes a message that was repeated harms nothing.
            #expect(try await service.answer(question, #""returnResponse""#).status == 200)
            #expect(try await service.answer(question, #""follow""#).status == 409)
        }
    }

    // Proves: DLG-2.
    @Test(arguments: ["HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n"])
    func `a reply may leave the answer to the API`(_ later: String) async throws {
        try await ask([later]) { service, id, receiver, _ in
            _ = try await receiver.next()
            #expect(try await service.answer(try await service.question(of: id), #""follow""#).status == 200)
            #expect(member(try await service.end(of: id), "response", "status") == 200)
        }
    }

    /// A reply that is no answer, and what is told of it, which names it: its text may be long.
    struct WrongReply: Sendable, CustomTestStringConvertible {
        let text: String
        let fault: String
        var testDescription: String { fault }
    }

    // Proves: SEC-35.
    @Test(arguments: [
        WrongReply(text: reply("hush {"), fault: "is not JSON"),
        WrongReply(text: reply(#"{"answer": "allow"}"#), fault: "no answer"),
        WrongReply(
            text: reply(#"{"answer": "follow", "request": {"url": "http://10.0.0.1/hush"}}"#), fault: "not allowed"),
        WrongReply(
            text: "HTTP/1.1 302 Found\r\nLocation: /hush\r\nContent-Length: 0\r\n\r\n", fault: "status 302"),
        WrongReply(text: "HTTP/1.1 400 Bad Request\r\nContent-Length: 4\r\n\r\nhush", fault: "status 400"),
        WrongReply(text: reply(String(repeating: " ", count: 10 << 20)), fault: "more than 65536 bytes"),
    ])
    func `a reply that is no answer is told and never repeated, and the API has its time`(_ wrong: WrongReply)
        async throws
    {
        try await ask([wrong.text]) { service, id, receiver, _ in
            _ = try await receiver.next()
            let question = try await service.question(of: id)
            let path = "/v1/questions/\(try #require(member(question, "id", as: String.self)))"
            var text = ""
            try await until {
                text = member(try await service.request(.get, path).json, "fault") ?? ""
                return !text.isEmpty
            }
            #expect(text.contains(wrong.fault) && !text.contains("hush"), "\(text)")
            #expect(try await service.answer(question, #""follow""#).status == 200)
            #expect(member(try await service.end(of: id), "response", "status") == 200)
            #expect(!service.logged.contains("hush"))
        }
    }

    // Proves: DLG-3.
    @Test func `an endpoint that fails is asked again under the same id`() async throws {
        let failure = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
        try await ask([failure, failure, reply(#""returnResponse""#)]) { service, id, receiver, _ in
            let ids = [try await receiver.next(), try await receiver.next(), try await receiver.next()].map {
                $0["webhook-id"]
            }
            #expect(Set(ids).count == 1)
            #expect(member(try await service.end(of: id), "response", "status") == 302)
        }
    }

    @Test func `questions to an endpoint that does not answer are answered otherwise at once, where the job says so`()
        async throws
    {
        let origin = try await redirecting()
        let dead = try WireOrigin { connection in
            while try connection.receiveHead() != nil { connection.reset() }
        }
        try await ServiceProcess.with(allowing: [origin.rule, "127.0.0.1:\(dead.port)"]) { service in
            let made = try await service.request(
                .post, "/v1/webhooks/endpoints", body: #"{"url": "\#(dead.url("/hook"))"}"#)
            let endpoint = try #require(member(made.json, "id", as: String.self))
            let more =
                #", "whenUnreachable": "otherwise", "otherwise": {"willPerformHTTPRedirection": "returnResponse"}"#
            var jobs: [String] = []
            for _ in 0..<12 {
                jobs.append(
                    try await service.submit(
                        origin.url("/go"), asking: Self.redirection, more,
                        via: #""via": "webhook", "endpoint": "\#(endpoint)""#))
            }
            // Some find out that nobody answers; the one that goes on trying has until its deadline.
            var ended = 0
            try await until {
                ended = 0
                for job in jobs
                where member(try await service.request(.get, "/v1/jobs/\(job)").json, "state")
                    == "succeeded"
                { ended += 1 }
                return ended >= 11
            }
            let list = try await service.request(.get, "/v1/questions?state=answered&limit=50")
            #expect(member(list.json, "data", "0", "by", "reason") == "unreachable", "\(list.text)")
        }
    }

    // R51
    @Test func `an endpoint that is slow holds up neither deliveries nor other delegates`() async throws {
        let origin = try await redirecting()
        let isOver = Gate()
        defer { isOver.open() }
        let slow = try WireOrigin { connection in
            while try connection.receiveHead() != nil { try isOver.wait() }
        }
        let quick = try WebhookReceiver(answers: [reply(#""returnResponse""#)])
        try await ServiceProcess.with(allowing: [origin.rule, quick.rule, "127.0.0.1:\(slow.port)"]) { service in
            let made = try await service.request(
                .post, "/v1/webhooks/endpoints", body: #"{"url": "\#(slow.url("/hook"))"}"#)
            let endpoint = try #require(member(made.json, "id", as: String.self))
            let many = #", "otherwise": {}}, "connections": {"maximumPerHost": 256"#
            for _ in 0..<100 {
                _ = try await service.submit(
                    origin.url("/go"), asking: Self.redirection, many,
                    via: #""via": "webhook", "endpoint": "\#(endpoint)""#)
            }
            let (other, _) = try await quick.endpoint(of: service)
            let id = try await service.submit(
                origin.url("/go"), asking: Self.redirection, many,
                via: #""via": "webhook", "endpoint": "\#(other)""#)
            #expect(member(try await service.end(of: id), "response", "status") == 302)
            isOver.open()
        }
    }
}
