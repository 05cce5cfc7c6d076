import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// The secrets of a job reach its origin and nobody else.
@Suite(.timeLimit(.minutes(3))) struct SecretTests {
    private static let fields = #"""
        [{"name": "Authorization", "value": "Bearer canary-authorization"}, {"name": "cookie", "value": "a=canary-cookie"},
         {"name": "X-API-Key", "value": "canary-key"}, {"name": "X-Own", "value": "canary-own", "sensitive": true},
         {"name": "X-Plain", "value": "plain"}]
        """#

    /// A request with a secret wherever there may be one.
    private static func request(_ url: String) -> String {
        #"""
        {"url": "\#(url)?q=canary-query", "method": "POST", "headers": \#(fields), "sensitive": ["query", "body"],
         "mainDocumentURL": "\#(url)?q=canary-document", "body": {"json": {"pin": "canary-body"}}}
        """#
    }

    /// The secrets that an origin has to be sent.
    private static let secrets = [
        "Bearer canary-authorization", "a=canary-cookie", "canary-key", "canary-own", "canary-query", "canary-body",
    ]

    private func received(_ origin: WireOrigin) -> String {
        origin.connections.indices.map { origin.received(on: $0) }.joined()
    }

    /// An origin that reads bodies, and answers by path.
    private func origin(_ answer: @escaping @Sendable (String) -> String) throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                _ = try connection.receive(length)
                try connection.send(answer(head) + "Content-Length: 0\r\n\r\n")
            }
        }
    }

    /// The tables that hold a text anywhere, bytes included.
    private func tables(holding text: String, _ client: Client) async throws -> [String] {
        let names = try await client.query(
            "SELECT schemaname || '.' || tablename FROM pg_tables WHERE schemaname IN ('public', 'fetchd')")
        var found: [String] = []
        for row in names {
            let name = try row.decode(String.self, at: 0)
            let hexadecimal = text.utf8.map { String(format: "%02x", $0) }.joined()
            let rows = try await client.query(
                """
                SELECT query_to_xml(
                    format('SELECT 1 FROM %s t WHERE t::text LIKE %L OR t::text LIKE %L', \(name)::text,
                    '%' || \(text)::text || '%', '%' || \(hexadecimal)::text || '%'), true, false, '')::text LIKE '%<row>%'
                """)
            if try rows.first?.decode(Bool.self, at: 0) == true { found.append(name) }
        }
        return found
    }

    private func id(_ answer: ServiceProcess.Answer) throws -> String {
        try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
    }

    // R53: by retries, a restart, a redrive, a schedule; in no table, view, event, message or log.
    // Proves: SEC-60, SEC-32.
    @Test func `what is sensitive reaches the origin and nothing else`() async throws {
        let origin = try origin { head in
            head.contains("/fails")
                ? "HTTP/1.1 503 No\r\n" : "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nSet-Cookie: a=canary\r\n"
        }
        let receiver = try WebhookReceiver()
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)", receiver.rule]) { place in
            let key = try await place.key()
            var service = try await ServiceProcess.start(place, key: key)
            let (endpoint, _) = try await receiver.endpoint(of: service)
            let more = receiver.announcing(endpoint)
            func submit(_ path: String, _ more: String, key: String? = nil) async throws -> String {
                var headers: HTTPFields = [:]
                if let key { headers[HTTPField.Name("Idempotency-Key")!] = key }
                return try id(
                    try await service.request(
                        .post, "/v1/jobs", body: #"{"request": \#(Self.request(origin.url(path)))\#(more)}"#,
                        headers: headers))
            }
            let credential = #""authentication": {"credential": {"user": "u", "password": "canary-password"}}"#
            let failing = #""retry": {"maximumAttempts": 2, "statuses": [503], "backoff": {"initial": 0.1}}"#
            let held = try await submit("/held", #", "suspended": true, "configuration": {\#(credential)}"#)
            let failed = try await submit("/fails", #", "configuration": {\#(failing)}"# + more)
            let done = try await submit("/done", more, key: "k")
            #expect(try await submit("/done", more, key: "k") == done)
            // A cookie of the response is not the job's secret, but the jar's.
            _ = try await service.fetch(origin.url("/cached"))
            let schedule = try id(
                try await service.request(
                    .post, "/v1/schedules",
                    body: #"{"interval": 3600, "job": {"request": \#(Self.request(origin.url("/scheduled")))}}"#))
            for name in [failed, done] { _ = try await service.job(name) { $0["finishedAt"] != nil } }
            // Stored jobs and schedules are changed, and read again after a restart.
            let changed = try await service.request(
                .patch, "/v1/jobs/\(held)", body: #"{"priority": 0.9}"#,
                headers: [.contentType: "application/merge-patch+json"])
            #expect(changed.status == 200, "\(changed.text)")
            let patched = try await service.request(
                .patch, "/v1/schedules/\(schedule)", body: #"{"labels": {"a": "b"}}"#,
                headers: [.contentType: "application/merge-patch+json"])
            #expect(patched.status == 200 && patched.text.contains("<redacted>"), "\(patched.text)")
            var log = service.logged
            #expect(try await service.stop() == 0)
            service = try await ServiceProcess.start(place, key: key)
            _ = try await service.request(.post, "/v1/jobs/\(held)/resume")
            _ = try await service.request(.post, "/v1/jobs/\(failed)/retry")
            let made = try id(try await service.request(.post, "/v1/schedules/\(schedule)/run"))
            for name in [held, made, failed] { _ = try await service.job(name) { $0["finishedAt"] != nil } }

            for path in ["/held", "/fails", "/done", "/scheduled"] {
                let sent = received(origin).components(separatedBy: "POST \(path)").dropFirst()
                #expect(!sent.isEmpty, "\(path)")
                for one in sent {
                    for secret in Self.secrets { #expect(one.contains(secret), "\(path) \(secret)") }
                }
            }
            let views =
                [held, failed, done, made].flatMap { id in
                    ["", "/har", "/events", "/explain"].map { "/v1/jobs/\(id)\($0)" }
                }
                + [
                    "/v1/jobs", "/v1/jobs/export", "/v1/jobs/export?form=submission", "/v1/schedules/\(schedule)",
                    "/v1/schedules", "/v1/webhooks/deliveries", "/v1/cache", "/v1/stats", "/metrics",
                ]
            for path in views {
                let answer = try await service.request(.get, path)
                #expect(!answer.text.contains("canary"), "\(path)")
            }
            // The cookie of the dashboard is kept by this client.
            _ = try await service.request(
                .post, "/dashboard/sign-in", body: "key=\(key)",
                headers: [.contentType: "application/x-www-form-urlencoded", .origin: service.base])
            for page in ["", "/jobs", "/hosts", "/flows"] + [held, failed, done, made].map({ "/jobs/\($0)" }) {
                let answer = try await service.request(.get, "/dashboard" + page)
                #expect(answer.status == 200 && answer.text.contains("Sign out"), "\(page)")
                #expect(!answer.text.contains("canary"), "\(page)")
            }
            let shown = try await service.request(.get, "/v1/jobs/\(done)").json
            #expect(member(shown, "request", "url") == origin.url("/done?<redacted>"))
            #expect(member(shown, "request", "headers", "0", "value") == "<redacted>")
            #expect(member(shown, "request", "headers", "4", "value") == "plain")
            #expect(member(shown, "request", "body", "text") == "<redacted>")
            #expect(member(shown, "response", "url") == origin.url("/done?<redacted>"))
            for _ in 0..<2 {
                #expect(!String(decoding: try await receiver.next().body, as: UTF8.self).contains("canary"))
            }
            log += service.logged
            #expect(!log.contains("canary"))
            #expect(try await tables(holding: "canary", place.database.client) == [])
            #expect(try await !tables(holding: "redacted", place.database.client).isEmpty)
            #expect(try await service.stop() == 0)
        }
    }

    /// A question as its endpoint is told it, and as the API shows it.
    private func question(
        of job: String, _ service: ServiceProcess, _ receiver: WebhookReceiver
    ) async throws -> [String: Any] {
        let message = String(decoding: try await receiver.next().body, as: UTF8.self)
        #expect(message.contains("job.question") && !message.contains("canary"), "\(message)")
        return try await service.question(of: job)
    }

    // By webhook and by the API, while the load is parked and after; the answers have secrets of their own.
    // Proves: DLG-7.
    @Test func `questions have no secret, and the secrets of their answers lie nowhere in clear`() async throws {
        let origin = try origin { head in
            if head.contains(" /closed"), !head.contains("Authorization") {
                return "HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=\"r\"\r\nSet-Cookie: a=canary-set\r\n"
            }
            return head.contains(" /go")
                ? "HTTP/1.1 307 There\r\nLocation: /next?q=canary-location\r\nSet-Cookie: a=canary-set\r\n"
                : "HTTP/1.1 200 OK\r\n"
        }
        let later = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
        let receiver = try WebhookReceiver(answers: [later])
        let settings = ["WORKER_HOLD_SECONDS": "0"]
        try await ServiceProcess.Place.with(
            allowing: ["127.0.0.1:\(origin.port)", receiver.rule], settings: settings
        ) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let (endpoint, _) = try await receiver.endpoint(of: service)
            func submit(_ request: String, asking kind: String) async throws -> String {
                let delegate =
                    #"{"via": "webhook", "endpoint": "\#(endpoint)", "questions": ["\#(kind)"], "timeout": 60}"#
                let body = #"{"request": \#(request), "configuration": {"delegate": \#(delegate)}}"#
                return try id(try await service.request(.post, "/v1/jobs", body: body))
            }
            func parked(_ count: Int) async throws {
                try await until {
                    try await service.request(.get, "/metrics").text.contains("fetchd_loads_parked_total \(count)")
                }
                #expect(try await tables(holding: "canary", place.database.client) == [])
            }
            let redirected = try await submit(
                Self.request(origin.url("/go")), asking: "willPerformHTTPRedirection")
            let first = try await question(of: redirected, service, receiver)
            try await parked(1)
            let fields = #"""
                [{"name": "Authorization", "value": "Bearer canary-answer"},
                 {"name": "X-Mine", "value": "canary-mine", "sensitive": true}]
                """#
            let challenged = try await submit(
                #"{"url": "\#(origin.url("/closed"))"}"#, asking: "didReceiveChallenge")
            let second = try await question(of: challenged, service, receiver)
            try await parked(2)
            let answers = [
                try await service.answer(first, #"{"answer": "follow", "request": {"headers": \#(fields)}}"#),
                try await service.answer(
                    second,
                    #"{"answer": "useCredential", "credential": {"user": "u", "password": "canary-password"}}"#),
            ]
            for answer in answers {
                #expect(answer.status == 200 && !answer.text.contains("canary"), "\(answer.text)")
            }
            for job in [redirected, challenged] {
                #expect(member(try await service.end(of: job), "response", "status") == 200)
                for path in ["", "/questions", "/explain", "/har", "/events"] {
                    let answer = try await service.request(.get, "/v1/jobs/\(job)\(path)")
                    #expect(answer.status == 200 && !answer.text.contains("canary"), "\(path) \(answer.text)")
                }
            }
            for path in ["/v1/questions?state=answered", "/v1/audit", "/v1/webhooks/deliveries"] {
                let answer = try await service.request(.get, path)
                #expect(answer.status == 200 && !answer.text.contains("canary"), "\(path)")
            }
            #expect(try await tables(holding: "canary", place.database.client) == [])
            #expect(!service.logged.contains("canary"))
            #expect(try await service.stop() == 0)
        }
        // The origin alone has them.
        for secret in ["canary-own", "Bearer canary-answer", "canary-mine", "canary-location", "canary-body"] {
            #expect(received(origin).contains(secret), "\(secret)")
        }
        #expect(received(origin).contains("Authorization: Basic"))
    }

    // Proves: SEC-31.
    @Test func `sensitive fields do not follow a redirect to another origin`() async throws {
        let other = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let first = try origin { _ in "HTTP/1.1 302 F\r\nLocation: \(other.url("/led"))\r\n" }
        let rules = ["127.0.0.1:\(first.port)", "127.0.0.1:\(other.port)"]
        try await ServiceProcess.with(allowing: rules) { service in
            let job = try await service.fetch(first.url(), request: #", "headers": \#(Self.fields)"#)
            #expect(member(job, "response", "status") == 200, "\(job)")
        }
        #expect(received(other).contains("GET /led") && received(other).contains("plain"))
        #expect(!received(other).contains("canary"))
    }

    // Whether the redirect is the answer or refused.
    // Proves: SEC-30, SEC-32.
    @Test(arguments: ["return", "follow"])
    func `the password of a Location lies nowhere in clear`(_ policy: String) async throws {
        let origin = try origin { _ in
            "HTTP/1.1 301 F\r\nLocation: http://u:canary@127.0.0.1/x\r\nLink: <http://u:canary@a.example/>; rel=next\r\n"
                + "Refresh: 0; url=http:u:canary@a.example\r\nCache-Control: max-age=60\r\n"
        }
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let more =
                #", "configuration": {"redirects": {"policy": "\#(policy)"}, "cache": {"cacheableStatuses": "rfc9111"}}"#
            let job = try await service.fetch(origin.url(), more: more)
            let id = try #require(member(job, "id", as: String.self))
            for path in ["", "/har", "/events", "/explain"] {
                #expect(try await !service.request(.get, "/v1/jobs/\(id)\(path)").text.contains("canary"), "\(path)")
            }
            if policy == "return" { #expect("\(job)".contains("http://127.0.0.1/x")) }
            #expect(try await tables(holding: "canary", place.database.client) == [])
            #expect(!service.logged.contains("canary"))
            #expect(try await service.stop() == 0)
        }
    }

    @Test(arguments: [
        (
            #"{"url": "http://a.example/", "headers": [{"name": "Authorization", "value": "<redacted>"}]}"#,
            "headers/0/value"
        ),
        (#"{"url": "http://a.example/?<redacted>", "sensitive": ["query"]}"#, "url"),
        (#"{"url": "http://a.example/", "method": "POST", "body": {"text": "<redacted>"}}"#, "body"),
    ])
    func `what is shown in place of a secret is not taken for one`(request: String, pointer: String) async throws {
        try await ServiceProcess.with(allowing: []) { service in
            let answer = try await service.request(.post, "/v1/jobs", body: #"{"request": \#(request)}"#)
            #expect(
                answer.status == 422 && answer.text.contains("\"pointer\":\"/request/\(pointer)\""), "\(answer.text)")
        }
    }

    // The same key with another secret is another job, although no spec says so.
    @Test func `a key stands for the secrets of its job too`() async throws {
        let origin = try origin { _ in "HTTP/1.1 200 OK\r\n" }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            func status(_ secret: String) async throws -> Int {
                let request = #"{"url": "\#(origin.url())", "headers": [{"name": "X-API-Key", "value": "\#(secret)"}]}"#
                return try await service.request(
                    .post, "/v1/jobs", body: #"{"request": \#(request)}"#,
                    headers: [HTTPField.Name("Idempotency-Key")!: "same"]
                ).status
            }
            let statuses = try await [status("one"), status("one"), status("two")]
            #expect(statuses[0] == 202 && statuses[1] < 300 && statuses[2] == 422, "\(statuses)")
        }
    }
}
