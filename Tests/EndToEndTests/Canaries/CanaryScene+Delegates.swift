import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

extension CanaryScene {
    /// The server of webhooks.
    ///
    /// It takes messages at `/hook`, fails at `/dead`, answers questions at `/delegate`, and at
    /// `/faulty` by what is no answer. It asks who is there at `/asked`, where no credential is stored for it.
    static func receiver(_ canaries: Canaries) throws -> WireOrigin {
        let password = canaries("credential of a delegate's reply")
        let faulty = canaries("faulty reply of a delegate", isSent: false)
        func reply(_ json: String) -> String { "HTTP/1.1 200 OK\r\nContent-Length: \(json.utf8.count)\r\n\r\n\(json)" }
        let credential = #"{"answer": "useCredential", "credential": {"user": "u", "password": "\#(password)"}}"#
        let answers = [
            "/dead": "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", "/delegate": reply(credential),
            "/faulty": reply(#"{"answer": "useCredential", "credential": {"pasword": "\#(faulty)"}}"#),
        ]
        return try serving { head, path in
            if path == "/asked" { return challenge(#"Basic realm="asked""#, to: head) }
            return answers[path] ?? "HTTP/1.1 204 No Content\r\n\r\n"
        }
    }

    /// Registers an endpoint, whose secret is one that the service makes, and returns its id.
    func endpoint(_ path: String) async throws -> String {
        let url = "\(other.url(path))?token=\(own("query of the endpoint \(path)"))"
        let made = try await ask(.post, "/v1/webhooks/endpoints", #"{"url": "\#(url)"}"#)
        let id = try #require(member(made.json, "id", as: String.self))
        let rotated = try await ask(.post, "/v1/webhooks/endpoints/\(id)/rotate", #"{"overlap": 60}"#)
        for (name, answer) in [("first", made), ("second", rotated)] {
            let secret = try #require(member(answer.json, "secret", as: String.self))
            canaries.add("\(name) secret of the endpoint \(path)", base64: secret.dropFirst("whsec_".count))
        }
        return id
    }

    /// Questions whose answers have secrets, by the API and by endpoints; returns the ids of their jobs.
    func plantAnswers() async throws -> [String] {
        let asks = #"["didReceiveChallenge", "willPerformHTTPRedirection"]"#
        let challenged = try await service.submit(other.url("/asked"), asking: asks)
        let login = #"{"user": "u", "password": "\#(canaries("credential of an answer"))"}"#
        try await answer(challenged, #"{"answer": "useCredential", "credential": \#(login)}"#)
        let redirected = try await service.submit(origin.url("/redirect"), asking: asks)
        let field = #"{"name": "Authorization", "value": "\#(canaries("field of an answer"))"}"#
        let marked = #"{"name": "X-Own", "value": "\#(canaries("marked field of an answer"))", "sensitive": true}"#
        try await answer(
            redirected,
            #"{"answer": "follow", "request": {"method": "POST", "headers": [\#(field), \#(marked)], "#
                + #""body": {"text": "\#(canaries("body of an answer"))"}}}"#)
        // What is no answer is refused, and the question stays open.
        let open = try await service.submit(other.url("/asked"), asking: asks)
        let wrong = canaries("answer that is refused", isSent: false)
        try await answer(
            open, #"{"answer": "useCredential", "credential": {"password": "\#(wrong)"}}"#, expecting: 400...499)
        try await ask(.post, "/v1/jobs/\(open)/cancel")
        var jobs = [challenged, redirected, open]
        for path in ["/delegate", "/faulty"] {
            let via = #""via": "webhook", "endpoint": "\#(try await endpoint(path))""#
            jobs.append(try await service.submit(other.url("/asked"), asking: asks, via: via, timeout: 5))
        }
        return jobs
    }

    private func answer(_ job: String, _ body: String, expecting statuses: ClosedRange<Int> = 200...299) async throws {
        let question = try #require(member(try await service.question(of: job), "id", as: String.self))
        try await ask(.post, "/v1/jobs/\(job)/questions/\(question)", body, expecting: statuses)
    }

    /// A protocol of an operator, whose secrets the service makes.
    func plantProtocol() async throws -> [String] {
        let path = "/v1/admin/protocols/canary"
        let made = try await ask(.put, path, #"{"scheme": "canary", "url": "\#(other.url("/protocol"))"}"#)
        let rotated = try await ask(.post, path + "/rotate", #"{"overlap": 60}"#)
        for (name, answer) in [("first", made), ("second", rotated)] {
            let secret = try #require(member(answer.json, "secret", as: String.self))
            canaries.add("\(name) secret of a protocol", base64: secret.dropFirst("whsec_".count))
        }
        return [
            try await submit(
                #"{"url": "canary://shelf/\#(own("URL of a protocol"))", "headers": [{"name": "Authorization", "#
                    + #""value": "\#(canaries("field for a protocol"))"}]}"#)
        ]
    }

    // MARK: What is refused

    /// Requests that are refused, with secrets where they have to be and where they must not be.
    func plantRefused() async throws {
        func secret(_ input: String) -> String { canaries("\(input), refused", isSent: false) }
        let url = origin.url("/ok")
        func request(_ members: String) -> String { #"{"request": {"url": "\#(url)", \#(members)}}"# }
        func field(_ name: String, _ value: String) -> String { #"{"name": "\#(name)", "value": "\#(value)"}"# }
        func configured(_ members: String) -> String {
            #"{"request": "\#(url)", "configuration": {\#(members)}}"#
        }
        func credential(_ members: String) -> String { #""authentication": {"credential": \#(members)}"# }
        func rule(_ kind: String, _ answer: String) -> String {
            configured(#""rules": [{"on": "\#(kind)", "answer": \#(answer)}]"#)
        }
        let jobs = [
            #"{"request": {"url": "\#(url)", "headers": [{"name": "Cookie", "value": "\#(secret("broken JSON"))"#,
            #"{"request": "\#(url)", "pasword": "\#(secret("unknown member"))"}"#,
            #"{"request": "\#(url)", "\#(secret("name of a member"))": 1}"#,
            #"{"request": "\#(url)", "kind": "\#(secret("word"))"}"#,
            #"{"request": "\#(url)", "priority": "\#(secret("number"))"}"#,
            request(#""headers": {"Authorization": "\#(secret("headers"))\n"}"#),
            request(#""headers": [\#(field(secret("name of a field") + "\\n", "x"))]"#),
            request(#""headers": [\#(field("Cookie", secret("value") + "\\n"))]"#),
            request(#""headers": [\#(field("Proxy-Authorization", secret("proxy field")))]"#),
            request(#""method": "\#(secret("method")) x""#),
            request(#""body": {"base64": "!\#(secret("base64"))"}"#),
            request(#""body": {"secret": "\#(secret("form of a body"))"}"#),
            #"{"request": "http://u:\#(secret("user information of a broken URL"))@[x/"}"#,
            #"{"request": "http://u:\#(secret("user information of a host"))@10.0.0.1/"}"#,
            #"{"request": "gopher://u:\#(secret("user information of a scheme"))@a.example/"}"#,
            configured(credential(#"{"password": "\#(secret("half credential"))"}"#)),
            configured(credential("\"\(secret("id of a credential"))\"")),
            configured(credential(#"{"certificateChain": "x", "privateKey": "\#(secret("private key"))"}"#)),
            configured(credential(#"{"pkcs12": "AAAA", "passphrase": "\#(secret("passphrase"))"}"#)),
            configured(#""proxy": {"url": "http://u:\#(secret("user information of a proxy"))@127.0.0.1:9"}"#),
            rule(
                "didReceiveChallenge",
                #"{"answer": "useCredential", "credential": {"user": "u", "password": "\#(secret("rule"))"}}"#),
            rule(
                "willPerformHTTPRedirection",
                #"{"answer": "follow", "request": {"headers": [\#(field("Cookie", secret("field of a rule")))]}}"#),
            #"{"request": "\#(url)", "kind": "download", "resumeFrom": "\#(secret("resume data"))"}"#,
            #"{"request": "\#(url)", "webhook": {"endpoint": "\#(secret("endpoint"))"}}"#,
        ]
        for job in jobs {
            // Where a URL leads is judged when the job runs; such a one fails.
            let answer = try await ask(.post, "/v1/jobs", job, headers: [.prefer: "wait=30"], expecting: 201...499)
            #expect(answer.status >= 400 || member(answer.json, "state") == "failed", "\(job): \(answer.text)")
        }
        let ofSession = credential(#"{"user": "u", "password": "\#(secret("credential of a session"))"}"#)
        let space = #"{"host": "a.example", "authenticationMethod": "x"}"#
        let others = [
            ("sessions", #"{"configuration": {\#(ofSession)}}"#),
            (
                "sessions",
                #"{"configuration": {"request": {"headers": [\#(field("Cookie", secret("field of a session")))]}}}"#
            ),
            (
                "schedules",
                #"{"interval": 0, "job": {"request": "http://u:\#(secret("job of a schedule"))@a.example/"}}"#
            ),
            ("groups", #"{"secret": "\#(secret("member of a group"))"}"#),
            (
                "credentials",
                #"{"protectionSpace": \#(space), "user": "u", "password": "\#(secret("stored credential"))"}"#
            ),
            ("cookies", #"{"cookies": [{"name": "a", "domain": 7, "value": "\#(secret("cookie"))"}]}"#),
            ("webhooks/endpoints", #"{"url": "https://u:\#(secret("endpoint's user information"))@a.example/"}"#),
            (
                "cache/entries",
                #"{"url": "\#(url)", "status": 200, "request": {"headers": "#
                    + #"[\#(field("Cookie", secret("field of a cache entry")))]}}"#
            ),
            ("cache/entries", #"{"url": "http://u:\#(secret("URL of a cache entry"))@a.example/", "status": 200}"#),
        ]
        for (path, body) in others { try await ask(.post, "/v1/" + path, body, expecting: 400...499) }
        try await ask(
            .post, "/v1/cookies/import", "127.0.0.1\tFALSE\t\(secret("line of cookies"))\n",
            headers: [.contentType: "text/plain"])
        try await plantWrongKeys(secret)
    }

    /// Keys of the API that are wrong, or in the wrong place.
    private func plantWrongKeys(_ secret: (String) -> String) async throws {
        try await ask(.get, "/v1/jobs?key=\(secret("key in a URL"))", expecting: 400...499)
        try await ask(.get, "/v1/jobs/\(secret("key in a path"))", expecting: 400...499)
        for scheme in ["Bearer fk_", "Basic "] {
            let field = "\(scheme)\(secret("key as \(scheme.prefix(6))"))"
            try await ask(.get, "/v1/jobs", headers: [.authorization: field], expecting: 400...499)
        }
        try await ask(
            .post, "/dashboard/sign-in", "key=\(secret("key at the sign-in"))",
            headers: [.contentType: "application/x-www-form-urlencoded", .origin: service.base], expecting: 400...499)
    }
}
