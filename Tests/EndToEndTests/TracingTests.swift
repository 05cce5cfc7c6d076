import FetchEngine
import FetchJobs
import Foundation
import HTTPTypes
import Postgres
import Synchronization
import TestSupport
import Testing

/// Traces that come with requests, and go to a collector, to webhooks and, where a job wants it, to origins.
@Suite(.timeLimit(.minutes(2))) struct TracingTests {
    private static let (trace, caller) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
    private static let headers: HTTPFields = [
        .traceparent: "00-\(trace)-\(caller)-01", .tracestate: "vendor=1,other=2",
    ]

    /// The heads of requests.
    private final class Heads: Sendable {
        private let kept = Mutex<[String]>([])

        var all: [String] { kept.withLock { $0 } }
        func add(_ head: String) { kept.withLock { $0.append(head) } }

        /// The values of a field, request by request.
        func values(of name: String) -> [String?] {
            all.map { head in
                head.split(separator: "\r\n").first { $0.hasPrefix("\(name): ") }.map {
                    String($0.dropFirst(name.count + 2))
                }
            }
        }
    }

    /// An origin that redirects from `/a` to `/b`.
    private static func origin(_ heads: Heads) throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                heads.add(head)
                try connection.send(
                    head.hasPrefix("GET /a")
                        ? "HTTP/1.1 302 Found\r\nLocation: /b?token=sesame\r\nContent-Length: 0\r\n\r\n"
                        : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
    }

    /// What a collector has, as it tells it.
    private struct Collected {
        let all: [String: Any]

        init(from collector: LoopbackServer) async throws {
            let request = Request(url: try URLRecord("http://127.0.0.1:\(collector.port)/spans"))
            let (text, _) = try await Session().data(for: request)
            all = try #require(try JSONSerialization.jsonObject(with: Data(text)) as? [String: Any])
        }

        var text: String { "\(all)" }
        /// Each once: a batch whose answer is late is sent again.
        var spans: [[String: Any]] {
            var seen: Set<String> = []
            return (all["spans"] as? [[String: Any]] ?? []).filter { seen.insert(member($0, "id") ?? "").inserted }
        }
        var faults: [String] { all["faults"] as? [String] ?? ["?"] }
        var fields: [[String: String]] { all["fields"] as? [[String: String]] ?? [] }

        func spans(_ name: String) -> [[String: Any]] { spans.filter { member($0, "name") == name } }

        func only(_ name: String) throws -> [String: Any] {
            let found = spans(name)
            try #require(found.count == 1, "\(name) in \(text)")
            return found[0]
        }
    }

    private static func settings(_ collector: LoopbackServer) -> [String: String] {
        [
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:\(collector.port)",
            "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20collector,x-scope=a",
            "OTEL_SERVICE_NAME": "crawler", "LOG_LEVEL": "info", "LOG_FORMAT": "json",
        ]
    }

    @Test func `a request's trace goes on in its job, each attempt, each request and its webhook, and tells no secret`()
        async throws
    {
        let (collector, heads) = (try await LoopbackServer.traceCollector(), Heads())
        let (origin, receiver) = (try Self.origin(heads), try WebhookReceiver())
        let rules = ["127.0.0.1:\(origin.port)", receiver.rule]
        try await ServiceProcess.Place.with(allowing: rules, settings: Self.settings(collector)) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let (endpoint, _) = try await receiver.endpoint(of: service)
            let body = #"{"request": {"url": "\#(origin.url("/a?secret=sesame"))"}\#(receiver.announcing(endpoint))}"#
            let answer = try await service.request(.post, "/v1/jobs", body: body, headers: Self.headers)
            let id = try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
            let job = try await service.job(id) { member($0, "state") == "succeeded" }
            let message = try await receiver.next()
            // Its attempt is over when the service has the receiver's answer, not when the receiver has the message.
            try await until {
                let deliveries = try await service.request(.get, "/v1/webhooks/deliveries?job=\(id)")
                return member(deliveries.json, "data", "0", "state") == "delivered"
            }
            #expect(try await service.stop() == 0, "\(service.logged)")

            let collected = try await Collected(from: collector)
            #expect(collected.faults.isEmpty)
            let traced = collected.spans.filter { member($0, "trace") == Self.trace }
            let names = traced.compactMap { member($0, "name", as: String.self) }
            #expect(
                names.sorted() == ["GET", "GET", "POST /v1/jobs", "attempt", "job", "wait", "webhook job.finished"])
            func span(_ name: String) throws -> [String: Any] {
                try #require(traced.first { member($0, "name") == name })
            }
            let parents = [
                ("POST /v1/jobs", Self.caller), ("job", try span("POST /v1/jobs")["id"] as? String),
                ("wait", try span("job")["id"] as? String), ("attempt", try span("job")["id"] as? String),
                ("GET", try span("attempt")["id"] as? String),
                ("webhook job.finished", try span("job")["id"] as? String),
            ]
            for (name, parent) in parents {
                for span in traced where member(span, "name") == name {
                    #expect(member(span, "parent") == parent, "\(name)")
                }
            }
            for span in traced {
                #expect(member(span, "state") == "vendor=1,other=2" && member(span, "eventsInside") == true)
                #expect(member(span, "resource", "service.name") == "crawler")
                #expect(member(span, "failed") == false)
            }
            // The job knows where it came from, and the receiver goes on from its delivery.
            let server = try #require(try span("POST /v1/jobs")["id"] as? String)
            #expect(member(job, "trace", "traceparent") == "00-\(Self.trace)-\(server)-01")
            let sent = try #require(try span("webhook job.finished")["id"] as? String)
            #expect(message["traceparent"] == "00-\(Self.trace)-\(sent)-01")
            #expect(message["tracestate"] == "vendor=1,other=2")
            // An origin is told nothing that its client has not asked for.
            #expect(heads.values(of: "traceparent") == [nil, nil] && heads.values(of: "tracestate") == [nil, nil])
            let urls = traced.compactMap { member($0, "attributes", "url.full", as: String.self) }
            #expect(Set(urls) == [origin.url("/a"), origin.url("/b")])
            #expect(!collected.text.contains("sesame"))
            #expect(collected.fields.allSatisfy { $0["authorization"] == "Bearer collector" && $0["x-scope"] == "a" })
            let lines = service.logged.split(separator: "\n").filter { $0.contains(#""trace_id":"\#(Self.trace)""#) }
            for text in ["job finished", "event sent"] {
                #expect(lines.contains { $0.contains(text) && $0.contains("span_id") }, "\(service.logged)")
            }
            #expect(!service.logged.contains("sesame") && !service.logged.contains("Bearer collector"))
        }
    }

    @Test func `each attempt that failed is a span of its own, and says why`() async throws {
        let collector = try await LoopbackServer.traceCollector()
        let origin = try WireOrigin(playing: "HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n")
        let settings = Self.settings(collector)
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let retry = #"{"maximumAttempts": 2, "statuses": [503], "backoff": {"initial": 0.01}}"#
            let job = try await service.fetch(
                origin.url("/x"), more: #", "configuration": {"retry": \#(retry)}"#)
            #expect(member(job, "state") == "failed")
            #expect(try await service.stop() == 0)
            let collected = try await Collected(from: collector)
            #expect(collected.faults.isEmpty)
            let attempts = collected.spans("attempt")
            #expect(
                attempts.compactMap { member($0, "attributes", "fetchd.attempt.number", as: Int.self) }.sorted() == [
                    1, 2,
                ])
            let whole = try collected.only("job")
            // Of a new trace: nobody has given one.
            let server = try #require(collected.spans("POST /v1/jobs").first)
            #expect(member(server, "parent") == "")
            for span in attempts + [whole] + collected.spans("GET") + collected.spans("wait") {
                #expect(member(span, "trace") == member(server, "trace", as: String.self))
                #expect(member(span, "failed") == (member(span, "name") != "wait"))
            }
            #expect(Set(attempts.compactMap { $0["id"] as? String }).count == 2)
            #expect(attempts.allSatisfy { member($0, "parent") == whole["id"] as? String })
            #expect(member(whole, "attributes", "error.type") == "badServerResponse")
            #expect(
                Set(collected.spans("GET").compactMap { $0["parent"] as? String })
                    == Set(attempts.compactMap { $0["id"] as? String }))
        }
    }

    @Test func `a schedule begins a trace for each of its jobs`() async throws {
        let (collector, heads) = (try await LoopbackServer.traceCollector(), Heads())
        let origin = try Self.origin(heads)
        let settings = Self.settings(collector)
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let body = #"{"interval": 1, "job": {"request": {"url": "\#(origin.url("/b"))"}}}"#
            let made = try await service.request(.post, "/v1/schedules", body: body)
            try #require(made.status == 201, "\(made.text)")
            var collected = try await Collected(from: collector)
            try await until {
                collected = try await Collected(from: collector)
                return collected.spans("job").count >= 1
            }
            #expect(try await service.stop() == 0)
            #expect(collected.faults.isEmpty)
            let job = try #require(collected.spans("job").first)
            let began = collected.spans("schedule").first { $0["id"] as? String == job["parent"] as? String }
            #expect(
                began.map { member($0, "parent") == "" && $0["trace"] as? String == job["trace"] as? String } == true)
        }
    }

    @Test func `a job that one node takes and another runs is in one trace`() async throws {
        let (collector, gate, seen) = (try await LoopbackServer.traceCollector(), Gate(), Heads())
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                seen.add(head)
                if head.hasPrefix("GET /hold") { try gate.wait() }
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let settings = Self.settings(collector)
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            let narrow = ServiceProcess.Place(
                database: place.database, directory: place.directory,
                environment: place.environment.merging(["WORKER_CONCURRENCY": "1"]) { $1 })
            let taking = try await ServiceProcess.start(narrow, key: key)
            let held = try await taking.request(
                .post, "/v1/jobs", body: #"{"request": {"url": "\#(origin.url("/hold"))"}}"#)
            try #require(held.status == 202, "\(held.text)")
            try await until { seen.all.count == 1 }
            let running = try await ServiceProcess.start(place, key: key)
            // It has no place left.
            let answer = try await taking.request(
                .post, "/v1/jobs", body: #"{"request": {"url": "\#(origin.url("/b"))"}}"#, headers: Self.headers)
            let id = try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
            _ = try await running.job(id) { member($0, "state") == "succeeded" }
            gate.open()
            #expect(try await taking.stop() == 0, "\(taking.logged)")
            #expect(try await running.stop() == 0, "\(running.logged)")

            let collected = try await Collected(from: collector)
            #expect(collected.faults.isEmpty)
            let traced = collected.spans.filter { member($0, "trace") == Self.trace }
            #expect(
                traced.compactMap { member($0, "name", as: String.self) }.sorted() == [
                    "GET", "POST /v1/jobs", "attempt", "job", "wait",
                ])
            func node(_ name: String) -> String? {
                traced.first { member($0, "name") == name }.flatMap { member($0, "resource", "service.instance.id") }
            }
            let taker = try #require(node("POST /v1/jobs"))
            #expect(["GET", "attempt", "job", "wait"].allSatisfy { node($0) != nil && node($0) == node("attempt") })
            #expect(node("attempt") != taker && taking.logged.contains(taker))
            let ids = Set(traced.compactMap { member($0, "id", as: String.self) } + [Self.caller])
            #expect(traced.allSatisfy { member($0, "parent", as: String.self).map(ids.contains) == true })
        }
    }

    @Test func `jobs from SQL and from the dashboard are in traces, with their webhooks`() async throws {
        let (collector, receiver) = (try await LoopbackServer.traceCollector(), try WebhookReceiver())
        let origin = try Self.origin(Heads())
        let rules = ["127.0.0.1:\(origin.port)", receiver.rule]
        try await ServiceProcess.Place.with(allowing: rules, settings: Self.settings(collector)) { place in
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            let (endpoint, _) = try await receiver.endpoint(of: service)
            let submission = #"{"request": "\#(origin.url("/b"))"\#(receiver.announcing(endpoint))}"#
            let rows = try await place.database.client.query("SELECT fetchd.enqueue(\(submission)::json)")
            let stored = try #require(try rows.first?.decode(String.self, at: 0))
            _ = try await service.job(stored) { member($0, "state") == "succeeded" }
            let message = try await receiver.next()
            let traced = #", "trace": {"traceparent": "00-\#(Self.trace)-\#(Self.caller)-01"}}"#
            let joining = #"{"request": "\#(origin.url("/b"))"\#(traced)"#
            let joined = try await place.database.client.query("SELECT fetchd.enqueue(\(joining)::json)")
            let joiner = try #require(try joined.first?.decode(String.self, at: 0))
            let shown = try await service.job(joiner) { member($0, "state") == "succeeded" }
            #expect(member(shown, "trace", "traceparent") == "00-\(Self.trace)-\(Self.caller)-01")
            try await Browser.with(flags: ["--blink-settings=scriptEnabled=false"]) { browser in
                try await browser.open(service.base + "/dashboard/jobs/new")
                try await browser.type(key, into: "#key")
                try await browser.follow("form.card button")
                try await browser.clear("input[name=url]")
                try await browser.type(origin.url("/b"), into: "input[name=url]")
                try await browser.follow(".buttons button[value=submit]")
                let id = String(try await browser.url.split(separator: "/").last ?? "")
                let job = try await service.job(id) { member($0, "state") == "succeeded" }
                #expect(member(job, "trace", "traceparent", as: String.self)?.hasSuffix("-01") == true)
            }
            #expect(try await service.stop() == 0, "\(service.logged)")

            let collected = try await Collected(from: collector)
            #expect(collected.faults.isEmpty)
            let jobs = collected.spans("job")
            try #require(jobs.count == 3)
            let inCaller = try #require(jobs.first { member($0, "attributes", "fetchd.job.id") == joiner })
            #expect(member(inCaller, "trace") == Self.trace && member(inCaller, "parent") == Self.caller)
            let fromSQL = try #require(jobs.first { member($0, "attributes", "fetchd.job.id") == stored })
            // Its own span is the first of the trace.
            #expect(member(fromSQL, "parent") == "")
            let trace = try #require(fromSQL["trace"] as? String)
            let below = collected.spans.filter { member($0, "trace") == trace && member($0, "name") != "job" }
            #expect(
                below.compactMap { member($0, "name", as: String.self) }.sorted() == [
                    "GET", "attempt", "wait", "webhook job.finished",
                ])
            #expect(message["traceparent"]?.hasPrefix("00-\(trace)-") == true)
            #expect(service.logged.contains(#""trace_id":"\#(trace)""#))
            let form = try #require(collected.spans("POST /dashboard/jobs/new").last)
            let submitted = try #require(
                jobs.first { ![stored, joiner].contains(member($0, "attributes", "fetchd.job.id") ?? "") })
            #expect(submitted["trace"] as? String == form["trace"] as? String)
            #expect(submitted["parent"] as? String == form["id"] as? String && member(form, "parent") == "")
            #expect(!collected.text.contains(key))
        }
    }

    @Test func `an origin gets the trace of a job that wants it, and never in place of the job's own fields`()
        async throws
    {
        let heads = Heads()
        let origin = try Self.origin(heads)
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            func fetch(_ headers: HTTPFields, _ request: String = "", _ configuration: String) async throws {
                let body =
                    #"{"request": {"url": "\#(origin.url("/b"))"\#(request)}, "configuration": {"request": {\#(configuration)}}}"#
                var headers = headers
                headers[.prefer] = "wait=30"
                let answer = try await service.request(.post, "/v1/jobs", body: body, headers: headers)
                try #require(answer.status == 201, "\(answer.text)")
            }
            let wanted = #""sendsTraceContext": true"#
            let own = #", "headers": [{"name": "traceparent", "value": "mine"}]"#
            try await fetch(Self.headers, "", wanted)
            try await fetch(Self.headers, "", #""sendsTraceContext": false"#)
            try await fetch(Self.headers, own, wanted)
            try await fetch(Self.headers, "", wanted + #", "headers": [{"name": "tracestate", "value": "mine=1"}]"#)
            try await fetch([.traceparent: "00-x", .tracestate: "a=1"], "", wanted)
            try await fetch([:], "", wanted)
            let parent = "00-\(Self.trace)-\(Self.caller)-01"
            #expect(heads.values(of: "traceparent") == [parent, nil, "mine", nil, nil, nil])
            #expect(heads.values(of: "tracestate") == ["vendor=1,other=2", nil, nil, "mine=1", nil, nil])
        }
    }

    @Test func `what a sampler leaves out is not exported, and is carried on as not sampled`() async throws {
        let collector = try await LoopbackServer.traceCollector()
        let (origin, receiver) = (try Self.origin(Heads()), try WebhookReceiver())
        let settings = Self.settings(collector).merging(["OTEL_TRACES_SAMPLER": "always_off"]) { $1 }
        let rules = ["127.0.0.1:\(origin.port)", receiver.rule]
        try await ServiceProcess.Place.with(allowing: rules, settings: settings) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let (endpoint, _) = try await receiver.endpoint(of: service)
            let body = #"{"request": {"url": "\#(origin.url("/b"))"}\#(receiver.announcing(endpoint))}"#
            _ = try await service.request(.post, "/v1/jobs", body: body, headers: Self.headers)
            #expect(try await receiver.next()["traceparent"] == "00-\(Self.trace)-\(Self.caller)-00")
            #expect(try await service.stop() == 0)
            #expect(try await Collected(from: collector).spans.isEmpty)
        }
    }
}
