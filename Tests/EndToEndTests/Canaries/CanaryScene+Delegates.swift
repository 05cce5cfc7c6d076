import FetchEngine
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

    // MARK: Doors and keys

    /// A message of the door for clients of QStash, with a secret that it passes on.
    func plantMessage() async throws -> [String] {
        let name = try #require(HTTPField.Name("Upstash-Forward-Authorization"))
        let sent = try await ask(
            .post, "/v2/publish/\(origin.url("/ok"))", own("body of a message"),
            headers: [name: canaries("field of a message"), .contentType: "text/plain"])
        return [try #require(member(sent.json, "messageId", as: String.self), "\(sent.text)")]
    }

    /// Secrets that the service makes: keys of the API and keys that sign requests, before and after their rotation.
    func plantKeys() async throws -> [String] {
        let made = try await ask(.post, "/v1/keys", #"{"name": "made", "scopes": ["jobs:read"]}"#)
        let id = try #require(member(made.json, "id", as: String.self), "\(made.text)")
        let rotated = try await ask(.post, "/v1/keys/\(id)/rotate", #"{"overlap": 60}"#)
        for (name, answer) in [("first", made), ("second", rotated)] {
            let token = try #require(member(answer.json, "token", as: String.self), "\(answer.text)")
            canaries.add("\(name) key of the API", Array(token.utf8))
            // Behind the prefix and the id, without the checksum.
            canaries.add("\(name) key of the API, its secret", Array(token.utf8.dropFirst(3 + 26).prefix(64)))
            _ = try await service.request(.get, "/v1/jobs", key: token)
        }
        let keys = [try await ask(.get, "/v2/keys"), try await ask(.post, "/v2/keys/rotate")]
        for answer in keys {
            for name in ["current", "next"] {
                let key = try #require(member(answer.json, name, as: String.self), "\(answer.text)")
                canaries.add("\(name) signing key", Array(key.utf8))
            }
        }
        let signature = #"{"name": "X-Signature", "content": "signature"}"#
        return [
            try await succeeding(
                try await submit(#"{"url": "\#(origin.url("/ok"))", "attemptHeaders": [\#(signature)]}"#))
        ]
    }

    /// A token that stands in a URL: who reads the log must not be able to follow the job by it.
    func plantStreamToken(of job: String) async throws {
        let made = try await ask(.post, "/v1/jobs/\(job)/events/token", "{}")
        let token = try #require(member(made.json, "token", as: String.self), "\(made.text)")
        canaries.add("token of a stream", Array(token.utf8))
        let code = try #require(token.split(separator: ".").last)
        canaries.add("token of a stream, its code", Array(code.utf8))
        // As a browser asks, without a key.
        let stream = Request(
            url: try URLRecord("\(service.base)/v1/jobs/\(job)/events?token=\(token)"),
            headerFields: [.accept: "text/event-stream"])
        let (_, response) = try await Session().data(for: stream)
        #expect(response.status == .ok)
    }

    /// The secret of a link that signs in once, in the hands of a browser and of somebody who comes later.
    func plantLink() async throws {
        let link = try await place.run("dashboard", "link", "--url", service.base)
        let secret = try #require(link.split(separator: "#").last.map { $0.prefix { !$0.isWhitespace } }, "\(link)")
        canaries.add("secret of a link", Array(secret.utf8))
        for statuses in [200...399, 400...499] {
            try await ask(
                .post, "/dashboard/link", "code=\(secret)",
                headers: [.contentType: "application/x-www-form-urlencoded", .origin: service.base],
                expecting: statuses)
        }
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
        for scheme in ["Bearer fk_", "Bearer eyJ", "Basic "] {
            let field = "\(scheme)\(secret("key as \(scheme)"))"
            try await ask(.get, "/v1/jobs", headers: [.authorization: field], expecting: 400...499)
        }
        try await ask(
            .post, "/dashboard/sign-in", "key=\(secret("key at the sign-in"))",
            headers: [.contentType: "application/x-www-form-urlencoded", .origin: service.base], expecting: 400...499)
    }
}
