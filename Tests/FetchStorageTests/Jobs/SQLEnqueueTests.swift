import FetchEngine
import FetchJobs
import FetchStorage
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// Jobs that other services store in transactions of their own, by `fetchd.enqueue`.
@Suite struct SQLEnqueueTests {
    @Test(arguments: [
        #"{"request": {"url": "https://origin.example/a?b=c"}}"#,
        #"{"request": "https://origin.example:8080/"}"#,
        #"{"request": "http://origin.example:443/"}"#, #"{"request": "https://origin.example:443/"}"#,
        #"{"request": {"url": "http://[::1]/"}, "kind": "download", "priority": 0.7}"#,
        #"{"request": {"method": "PUT", "url": "http://origin.example/", "body": {"json": {"b": 1, "a": null}}},"#
            + #""kind": "upload", "labels": {"z": "1", "a": "2 \"x\""}, "suspended": true}"#,
        #"{"request": {"url": "http://origin.example/"}, "runAt": "2099-01-01T00:00:00+01:00","#
            + #""expiresAt": "2099-01-01T12:00:00.25Z", "session": "default", "priority": 1}"#,
        #"{"request": {"url": "data:,x"}, "configuration": {"redirects": {"maximum": 3}}}"#,
        #"{"request": {"url": "http://origin.example/"}, "discretionary": true, "flow": {"key": "a \"b\""}}"#,
    ])
    func `what SQL stores is what the API stores`(job: String) async throws {
        try await StoreFixture.with { fixture in
            let spec = try JobSpec(json: try JSONParser.parse(job.utf8))
            let byAPI = NewJob(tenant: fixture.tenant, spec: spec)
            _ = try await fixture.store().enqueue([byAPI])
            let bySQL = try await fixture.enqueueBySQL(job)
            let expected = try await fixture.columns(of: byAPI.id)
            #expect(try await fixture.columns(of: bySQL) == expected)
            let stored = try #require(try await fixture.store().job(bySQL, of: fixture.tenant))
            var same = try #require(stored.storedSpec)
            same.isSuspended = spec.isSuspended
            #expect(same == spec)
            #expect(stored.spec.text.hasPrefix(#"{"kind":""#))
            let listed = try await fixture.store().jobs(of: fixture.tenant, state: nil, page: JobPage(limit: 2))
            #expect(listed.map(\.method) == Array(repeating: spec.request.method.rawValue, count: 2))
        }
    }

    @Test(arguments: [
        #"{"rules": [{"on": "didReceiveChallenge", "answer": {"answer": "useCredential", "#
            + #""credential": {"user": "u", "password": "p"}}}]}"#,
        #"{"delegate": {"via": "api", "questions": ["didReceiveChallenge"], "otherwise": {"didReceiveChallenge": "#
            + #"{"answer": "useCredential", "credential": {"bearerToken": "t"}}}}}"#,
        #"{"rules": [{"on": "willPerformHTTPRedirection", "answer": {"answer": "follow", "#
            + #""request": {"headers": [{"name": "Authorization", "value": "x"}]}}}]}"#,
    ])
    func `answers that bring a secret are refused`(configuration: String) async throws {
        try await StoreFixture.with { fixture in
            let job = #"{"request": {"url": "http://x.example/"}, "configuration": \#(configuration)}"#
            let refusal = try await fixture.refusal(of: job)
            #expect(refusal.hasPrefix("/configuration must not"))
        }
    }

    // Secrets that nobody can seal are not stored.
    // Proves: SEC-50.
    @Test func `fields that carry credentials are refused`() async throws {
        try await StoreFixture.with { fixture in
            for name in HTTPField.Name.ofCredentials {
                let field = #"[{"name": "A", "value": "b"}, {"name": "\#(name.uppercased())", "value": "hunter2"}]"#
                let job = #"{"request": {"url": "http://x.example/", "headers": \#(field)}}"#
                let refusal = try await fixture.refusal(of: job)
                #expect(refusal.hasPrefix("/request/headers/1 must not"), "\(name)")
            }
            #expect(try await fixture.count("jobs") == 0)
        }
    }

    private static let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")

    @Test(arguments: [
        (#"{"traceparent": "00-\#(trace)-\#(span)-01", "tracestate": "vendor=1,other=2"}"#, true, "vendor=1,other=2"),
        (#"{"traceparent": "00-\#(trace)-\#(span)-02", "tracestate": null}"#, false, nil),
        (#"{"traceparent": "00-\#(trace)-\#(span)-03", "tracestate": "one \"member\""}"#, true, nil),
    ])
    func `a job goes on in the trace of its caller`(trace: String, isSampled: Bool, state: String?) async throws {
        try await StoreFixture.with { fixture in
            let id = try await fixture.enqueueBySQL(#"{"request": "http://x.example/", "trace": \#(trace)}"#)
            let spec = try #require(try await fixture.store().job(id, of: fixture.tenant)?.storedSpec)
            #expect(spec.trace?.parent == "00-\(Self.trace)-\(Self.span)-0\(isSampled ? 1 : 0)")
            #expect(spec.trace?.state?.text == state)
            let other = try await fixture.enqueueBySQL(#"{"request": "http://x.example/", "trace": null}"#)
            #expect(try await fixture.store().job(other, of: fixture.tenant)?.storedSpec?.trace == nil)
        }
    }

    @Test(arguments: [
        (#""00-\#(trace)-\#(span)-01""#, "/trace must be an object"), ("{}", "/trace/traceparent must"),
        (#"{"traceparent": 1}"#, "/trace/traceparent must"),
        (#"{"traceparent": "00-\#(trace)-\#(span)-1"}"#, "/trace/traceparent must"),
        (#"{"traceparent": "ff-\#(trace)-\#(span)-01"}"#, "/trace/traceparent must"),
        (#"{"traceparent": "00-\#(trace.uppercased())-\#(span)-01"}"#, "/trace/traceparent must"),
        (#"{"traceparent": "00-00000000000000000000000000000000-\#(span)-01"}"#, "/trace/traceparent must"),
        (#"{"traceparent": "00-\#(trace)-0000000000000000-01"}"#, "/trace/traceparent must"),
        (#"{"traceparent": "00-\#(trace)-\#(span)-01", "tracestate": 1}"#, "/trace/tracestate must"),
        (#"{"traceparent": "00-\#(trace)-\#(span)-01", "baggage": ""}"#, "/trace/baggage is not known"),
    ])
    func `a trace that none can go on in is refused`(trace: String, refusal: String) async throws {
        try await StoreFixture.with { fixture in
            let told = try await fixture.refusal(of: #"{"request": "http://x.example/", "trace": \#(trace)}"#)
            #expect(told.hasPrefix(refusal), "\(told)")
        }
    }

    @Test func `a job is there when its caller commits, and never was when it rolls back`() async throws {
        struct Undone: Error {}
        try await StoreFixture.with { fixture in
            let job = #"{"request": {"url": "http://origin.example/"}, "labels": {"order": "42"}}"#
            let connection = try await fixture.database.connect()
            await #expect(throws: Undone.self) {
                try await connection.transaction { connection in
                    try await fixture.enqueueBySQL(job, on: connection)
                    throw Undone()
                }
            }
            #expect(try await fixture.count("jobs") == 0)
            let id = try await connection.transaction { connection in
                let id = try await fixture.enqueueBySQL(job, on: connection)
                #expect(try await fixture.queue().claim(limit: 1).isEmpty)
                return id
            }
            #expect(try await fixture.queue().claim(limit: 1).map(\.id) == [id])
            await connection.close()
        }
    }

    @Test func `sessions and endpoints count as in the API`() async throws {
        try await StoreFixture.with { fixture in
            let (session, endpoint) = (TenantSession.ID(), WebhookEndpoint.ID())
            let job = #"{"request": "http://origin.example/", "session": "\#(session)"}"#
            await #expect(throws: PostgresError.self) { try await fixture.enqueueBySQL(job) }
            try await fixture.database.client.query(
                """
                WITH endpoint AS (
                    INSERT INTO webhook_endpoints (tenant_id, id, url, events, sealed_secret)
                    VALUES (1, \(endpoint), 'https://receiver.example/', '{job.finished}', '')
                )
                INSERT INTO sessions (tenant_id, id, kind, spec, endpoint_id)
                VALUES (1, \(session), 'default', '{}', \(endpoint))
                """)
            let byAPI = NewJob(tenant: fixture.tenant, spec: try JobSpec(json: try JSONParser.parse(job.utf8)))
            _ = try await fixture.store().enqueue([byAPI])
            let bySQL = try await fixture.enqueueBySQL(job)
            let expected = try await fixture.columns(of: byAPI.id)
            #expect(try await fixture.columns(of: bySQL) == expected)
            try await fixture.database.client.query(
                "UPDATE sessions SET state = 'finishing', invalidated_at = now()")
            await #expect(throws: PostgresError.self) { try await fixture.enqueueBySQL(job) }
        }
    }

    @Test(arguments: [
        (#"[]"#, "the job must be an object"),
        (#"{}"#, "/request/url is required"),
        (#"{"request": {"url": null}}"#, "/request/url is required"),
        (#"{"request": "http://x.example/", "more": 1}"#, "/more cannot"),
        (#"{"request": "ftp://x.example/"}"#, "/request/url must be"),
        (#"{"request": "http://ünder.example/"}"#, "/request/url must be"),
        (#"{"request": "http://user:hunter2@x.example/"}"#, "/request/url must not hold"),
        (
            #"{"request": "http://x.example/", "configuration": {"authentication": {"credential": {"user": "u"}}}}"#,
            "/configuration/authentication/credential must be"
        ),
        (
            #"{"request": "http://x.example/", "configuration": {"proxy": {"http": "http://u:p@proxy.example"}}}"#,
            "/configuration must not hold"
        ),
        (
            #"{"request": {"url": "http://x.example/", "headers": [{"name": "a", "value": "b", "sensitive": true}]}}"#,
            "/request/headers/0 must not"
        ),
        (#"{"request": {"url": "http://x.example/?a", "sensitive": ["query"]}}"#, "/request/sensitive cannot"),
        (#"{"request": {"url": "http://x.example/", "body": {"blob": "blb_1"}}}"#, "/request/body/blob is not"),
        (
            #"{"request": {"url": "http://x.example/", "body": {"multipart": [{"text": ""}, {"blob": "blb_1"}]}}}"#,
            "/request/body/multipart/1/blob is not"
        ),
        (#"{"request": "http://x.example/", "kind": "download", "resumeFrom": 1}"#, "/resumeFrom is not"),
        (#"{"request": "http://x.example/", "flow": "orders"}"#, "/flow must be"),
        (#"{"request": "http://x.example/", "flow": {"key": ""}}"#, "/flow/key must have"),
        (#"{"request": "http://x.example/", "group": "grp_1"}"#, "/group is not"),
        (#"{"request": "http://x.example/", "discretionary": 1}"#, "/discretionary must be"),
        (#"{"request": "http://x.example/", "kind": "stream"}"#, "/kind must be"),
        (#"{"request": "http://x.example/", "priority": 1.5}"#, "/priority must be"),
        (#"{"request": "http://x.example/", "priority": "1"}"#, "/priority must be"),
        (#"{"request": "http://x.example/", "runAt": "tomorrow"}"#, "/runAt must be"),
        (#"{"request": "http://x.example/", "suspended": "no"}"#, "/suspended must be"),
        (#"{"request": "http://x.example/", "labels": {"a": 1}}"#, "/labels must be"),
        (#"{"request": "http://x.example/", "session": "ses_1"}"#, "/session is not"),
        (#"{"request": "http://x.example/", "webhook": {"endpoint": "whe_1"}}"#, "/webhook/endpoint is not"),
        (
            #"{"request": "http://x.example/", "configuration": {"delegate": {"via": "webhook", "#
                + #""endpoint": "whe_01jd3v8m5qf0t8n4r6w2y9bcde", "questions": ["didReceiveResponse"]}}}"#,
            "/configuration/delegate/endpoint is not an endpoint of yours"
        ),
        (
            #"{"request": {"url": "http://x.example/", "headers": {"Authorization": "hunter2"}}}"#,
            "/request/headers must be a list"
        ),
        (
            #"{"request": "http://x.example/", "configuration": {"headers": {"Cookie": "hunter2"}}}"#,
            "/configuration must hold header fields as lists"
        ),
        (
            #"{"request": "http://x.example/", "configuration": {"rules": [{"on": "willPerformHTTPRedirection", "#
                + #""answer": {"answer": "follow", "request": {"headers": {"Cookie": "hunter2"}}}}]}}"#,
            "/configuration must hold header fields as lists"
        ),
    ])
    func `what is refused names the member, and stores nothing`(job: String, message: String) async throws {
        try await StoreFixture.with { fixture in
            let refusal = try await fixture.refusal(of: job)
            #expect(refusal.hasPrefix(message))
            #expect(!refusal.contains("hunter2"))
            #expect(try await fixture.count("jobs") == 0)
            #expect(try await fixture.count("queue") == 0)
        }
    }

    @Test func `a role stores jobs of the tenants that it was allowed, and can do nothing else`() async throws {
        try await StoreFixture.with { fixture in
            let role = "shop_\(UUID().uuidString.lowercased())"
            let administrator = fixture.database.client
            try await administrator.query("CREATE ROLE \(.identifier(role)) LOGIN")
            try await administrator.query("INSERT INTO tenants (name) VALUES ('other')")
            let connection = try await Connection.open(
                Connection.Configuration(connectionString: fixture.database.connectionString + " user=\(role)"),
                on: TestDatabase.loop)
            let job = #"{"request": "http://origin.example/"}"#
            func refusal(_ query: Query) async -> String? {
                do throws(PostgresError) { try await connection.query(query) } catch { return error.sqlState }
                return nil
            }
            #expect(await refusal("SELECT fetchd.enqueue(\(job)::text::json)") == "42501")
            try await administrator.query("SELECT fetchd.allow(\(role)::text::name)")
            #expect(await refusal("SELECT fetchd.enqueue(\(job)::text::json)") == nil)
            #expect(await refusal("SELECT fetchd.enqueue(\(job)::text::json, 'other')") == "42501")
            #expect(await refusal("SELECT fetchd.enqueue(\(job)::text::json, 'nobody')") == "42501")
            for query: Query in ["SELECT * FROM jobs", "DELETE FROM queue", "SELECT fetchd.allow('public')"] {
                #expect(await refusal(query) == "42501")
            }
            try await administrator.query("SELECT fetchd.disallow(\(role)::text::name)")
            #expect(await refusal("SELECT fetchd.enqueue(\(job)::text::json)") == "42501")
            await connection.close()
            try await administrator.query("DROP OWNED BY \(.identifier(role))")
            try await administrator.query("DROP ROLE \(.identifier(role))")
            #expect(try await fixture.count("jobs") == 1)
        }
    }
}

/// Jobs that no node can run (R3).
@Suite struct UnreadableJobTests {
    // R3
    @Test(arguments: [
        (#"{"request": {"url": "http://x.example/", "method": "CONNECT"}}"#, "jobInvalid", "/request/method"),
        (#"{"request": {"url": "http://x.example:99999/"}}"#, "badURL", "/request/url"),
        (#"{"request": {"url": "http://x.example/", "url": "http://y.example/"}}"#, "jobInvalid", "twice"),
        (#"{"request": "http://x.example/", "configuration": {"none": 1}}"#, "jobInvalid", "/configuration/none"),
    ])
    func `a job that cannot be read fails alone`(job: String, code: String, word: String) async throws {
        try await StoreFixture.with { fixture in
            let client = fixture.database.client
            let rows = try await client.query("SELECT fetchd.enqueue(\(job)::text::json)")
            let id = try #require(try rows.first?.decode(String.self, at: 0))
            let bad = try #require(Job.ID(id))
            let good = [try NewJob.make(), try NewJob.make()]
            _ = try await fixture.store().enqueue(good)
            let claimed = try await fixture.queue().claim(limit: 2)
            #expect(Set(claimed.map(\.id)) == Set(good.map(\.id)))
            let failed = try #require(try await fixture.store().job(bad, of: fixture.tenant))
            #expect(failed.state == .failed && failed.attempts.isEmpty)
            #expect(failed.error?.text.contains(#""name":"\#(code)""#) == true)
            #expect(failed.error?.text.contains(word) == true, "\(failed.error?.text ?? "")")
            #expect(try await fixture.count("queue") == 2)
        }
    }

    // R3
    @Test func `the end of a job that cannot be read is told`() async throws {
        try await StoreFixture.with { fixture in
            let endpoint = WebhookEndpoint.ID()
            try await fixture.database.client.query(
                """
                INSERT INTO webhook_endpoints (tenant_id, id, url, events, sealed_secret)
                VALUES (1, \(endpoint), 'https://receiver.example/', '{job.finished}', '')
                """)
            let job = try NewJob.make(more: #", "webhook": {"endpoint": "\#(endpoint)"}"#)
            _ = try await fixture.store().enqueue([job])
            try await fixture.database.client.query(#"UPDATE jobs SET spec = '{"kind":"data"}'"#)
            #expect(try await fixture.queue().claim(limit: 1).isEmpty)
            #expect(try await fixture.count("webhook_deliveries") == 1)
            #expect(try await fixture.store().job(job.id, of: fixture.tenant)?.state == .failed)
        }
    }

    // R3
    @Test func `secrets that cannot be opened fail their job alone`() async throws {
        try await StoreFixture.with { fixture in
            let credential = #"{"authentication": {"credential": {"user": "robot", "password": "hunter2"}}}"#
            let job = try NewJob.make(more: #", "configuration": \#(credential)"#)
            _ = try await fixture.store().enqueue([job, try .make()])
            try await fixture.database.client.query(
                "UPDATE jobs SET sealed_secrets = 'nonsense' WHERE sealed_secrets IS NOT NULL")
            #expect(try await fixture.queue().claim(limit: 2).count == 1)
            let failed = try #require(try await fixture.store().job(job.id, of: fixture.tenant))
            #expect(failed.error?.text.contains("userAuthenticationRequired") == true)
        }
    }
}
