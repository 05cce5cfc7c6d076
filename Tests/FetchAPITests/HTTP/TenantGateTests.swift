import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import FetchAPI

/// The limits of tenants at the front of the API.
@Suite struct TenantGateTests {
    @Test func `a tenant beyond its request rate gets 429 with fields, and nobody else does`() async throws {
        let server = try await TestServer(limits: [.maximumRequestsPerSecond: 1])
        let (_, other) = try await server.keys.create(name: "other", tenant: "other")
        try await server.test { call async throws in
            let first = try await call(.get, "/v1/jobs")
            #expect(first.headers[.rateLimitPolicy] == #""requests";q=2;w=2"#)
            #expect(first.headers[.rateLimit] == #""requests";r=1;t=1"#)
            // What is answered with a problem is a request too.
            let missing = try await call(.get, "/v1/jobs/job_01jd3v8m5qf0t8n4r6w2y9bcde")
            #expect(missing.problem == .notFound && missing.headers[.rateLimit] == #""requests";r=0;t=2"#)
            let refused = try await call(.post, "/v1/jobs", body: "not JSON")
            #expect(refused.status == .tooManyRequests && refused.problem == .tooManyRequests)
            #expect(refused.headers[.retryAfter] == "1" && refused.headers[.rateLimit] == #""requests";r=0;t=1"#)
            #expect(refused.headers[.rateLimitPolicy] == #""requests";q=2;w=2"#)
            let others = call.with("Bearer \(other.revealed)")
            #expect(try await others(.get, "/v1/jobs").status == .ok)
            // Routes for everyone have no tenant.
            #expect(try await call(.get, "/healthz").headers[.rateLimit] == nil)
        }
        #expect(server.metrics.text.contains(#"fetchd_limit_refusals_total{limit="requests"} 1"#))
        let noted = server.audit.all.filter { $0.action == AuditAction.refuseRequest.rawValue }
        #expect(noted.map(\.object) == ["POST /v1/jobs"] && noted.map(\.chain) == [server.key.tenant])
        #expect(noted.map(\.details?.text) == [#"{"code":"tooManyRequests"}"#] && noted.map(\.actor) == ["key"])
    }

    @Test func `a batch is one request, however many jobs it has`() async throws {
        let server = try await TestServer(limits: [.maximumRequestsPerSecond: 1])
        try await server.test { call async throws in
            let lines = String(repeating: #"{"request": {"url": "http://a.example/"}}"# + "\n", count: 100)
            let answer = try await call(
                .post, "/v1/jobs/batch", headers: [.contentType: "application/x-ndjson"], body: lines)
            #expect(answer.status == .ok && answer.headers[.rateLimit] == #""requests";r=1;t=1"#)
        }
    }

    @Test func `operators are not held up where they would raise a limit`() async throws {
        let server = try await TestServer(limits: [.maximumRequestsPerSecond: 1])
        let (_, token) = try await server.keys.create(name: "operator", tenant: "test", scopes: .all)
        try await server.test { client async throws in
            let call = client.with("Bearer \(token.revealed)")
            for _ in 0..<10 { #expect(try await call(.get, "/v1/admin/tenants").status == .ok) }
            #expect(try await call(.get, "/v1/jobs").headers[.rateLimit] == #""requests";r=1;t=1"#)
        }
    }

    @Test func `requests without a valid key take no room and no memory`() async throws {
        let server = try await TestServer(limits: [.maximumRequestsPerSecond: 1])
        let gate = TenantGate(
            limits: server.tenantLimits, traffic: TrafficMeter(store: server.traffic, limits: server.tenantLimits))
        _ = try gate.take(of: .first)
        #expect(gate.count == 1)
        try await server.test { call async throws in
            for _ in 0..<5 {
                let answer = try await call(.get, "/v1/jobs", headers: [.authorization: "Bearer fk_nonsense"])
                #expect(answer.problem == .unauthorized && answer.headers[.rateLimit] == nil)
            }
            #expect(try await call(.get, "/v1/jobs").headers[.rateLimit] == #""requests";r=1;t=1"#)
        }
    }

    @Test func `beyond the bytes of a day no jobs are taken until the next, and all else is done`() async throws {
        let server = try await TestServer(limits: [.maximumBytesPerDay: 1000])
        let spent = [server.key.tenant: Traffic(sentBytes: 400, receivedBytes: 600)]
        _ = try await server.traffic.add(spent, reading: [])
        try await server.test { call async throws in
            let job = #"{"request": {"url": "http://a.example/"}}"#
            let refused = try await call(.post, "/v1/jobs", body: job)
            #expect(refused.status == .tooManyRequests && refused.problem == .trafficExhausted)
            #expect(refused.headers[.rateLimitPolicy] == #""bytesOfDay";q=1000;w=86400"#)
            let wait = try #require(refused.headers[.retryAfter].flatMap { Int($0) })
            #expect((3500...3600).contains(wait))
            #expect(refused.headers[.rateLimit] == #""bytesOfDay";r=0;t=\#(wait)"#)
            let batch = try await call(
                .post, "/v1/jobs/batch", headers: [.contentType: "application/x-ndjson"], body: job)
            #expect(batch.problem == .trafficExhausted)
            #expect(try await call(.get, "/v1/jobs").json?["data"]?.count == 0)
            let blob = try await call(.post, "/v1/blobs", headers: [.contentType: "text/plain"], body: "x")
            #expect(blob.status == .created)
        }
        #expect(server.metrics.text.contains(#"fetchd_limit_refusals_total{limit="bytesOfDay"} 2"#))
    }

    // Proves: SEC-45.
    @Test func `an upload beyond the stored bytes of its tenant is refused, by its length or as it comes`()
        async throws
    {
        let server = try await TestServer()
        server.catalog.limit(to: 10)
        try await server.test { call async throws in
            func upload(_ bytes: Int) async throws -> TestAnswer {
                try await call(
                    .post, "/v1/blobs", headers: [.contentType: "text/plain"],
                    body: String(repeating: "x", count: bytes))
            }
            #expect(try await upload(8).status == .created)
            for _ in 0..<2 {
                let refused = try await upload(3)
                #expect(refused.status == .tooManyRequests && refused.problem == .tooManyBytes)
                #expect(refused.headers[.rateLimitPolicy] == #""storedBytes";q=10"#)
                #expect(refused.headers[.retryAfter] == "60")
            }
            let begun = try await call(
                .post, "/v1/blobs",
                headers: [.contentType: "text/plain", .uploadComplete: "?0", .uploadLength: "3"], body: "xxx")
            #expect(begun.problem == .tooManyBytes)
            #expect(try await upload(2).status == .created)
            #expect(try await upload(1).problem == .tooManyBytes)
            #expect(server.catalog.count == 2)
        }
        #expect(server.metrics.text.contains(#"fetchd_limit_refusals_total{limit="storedBytes"} 4"#))
    }

    // Proves: SEC-44.
    @Test func `what has come of an upload takes room while it goes on, and no more when it was given up`()
        async throws
    {
        let server = try await TestServer()
        server.catalog.limit(to: 10)
        let tenant = server.key.tenant
        try await server.test { call async throws in
            func upload(
                _ pieces: [String], then end: @escaping @Sendable () async -> Void = {}
            ) async throws -> TestAnswer {
                let bodies = Mutex(pieces[...])
                // A piece is asked for when the one before it is stored.
                let stream = AsyncStream<ByteBuffer>(unfolding: {
                    if let piece = bodies.withLock({ $0.popFirst() }) { return ByteBuffer(string: piece) }
                    await end()
                    return nil
                })
                return try await call(
                    .post, "/v1/blobs", headers: [.contentType: "text/plain"], RequestBody(asyncSequence: stream))
            }
            let held = Mutex<Int64?>(nil)
            let other = Mutex<TestAnswer?>(nil)
            let first = try await upload(["1234", "56"]) {
                held.withLock { $0 = server.unfinished.bytes(of: tenant) }
                let answer = try? await call(.post, "/v1/blobs", headers: [.contentType: "text/plain"], body: "12345")
                other.withLock { $0 = answer }
            }
            #expect(first.status == .created)
            #expect(held.withLock { $0 } == 6)
            #expect(other.withLock { $0?.problem } == .tooManyBytes)
            #expect(try await upload(["123", "45"]).problem == .tooManyBytes)
            #expect(server.unfinished.bytes(of: tenant) == 0)
            #expect(try await upload(["123", "4"]).status == .created)
            #expect(server.catalog.count == 2 && server.blobs.count == 2)
        }
    }

    // Proves: SEC-45.
    @Test func `without room for a byte no jobs are taken, and what makes room is done`() async throws {
        let server = try await TestServer(limits: [.maximumStoredBytes: 10])
        server.catalog.limit(to: 10)
        try await server.test { call async throws in
            let job = #"{"request": {"url": "http://a.example/"}}"#
            let ndjson: HTTPFields = [.contentType: "application/x-ndjson"]
            #expect(try await call(.post, "/v1/jobs", body: job).status == .accepted)
            let blob = try await call(
                .post, "/v1/blobs", headers: [.contentType: "text/plain"], body: String(repeating: "x", count: 10))
            #expect(blob.status == .created)
            let refused = try await call(.post, "/v1/jobs", body: job)
            #expect(refused.status == .tooManyRequests && refused.problem == .tooManyBytes)
            #expect(refused.headers[.rateLimitPolicy] == #""storedBytes";q=10"#)
            #expect(refused.headers[.retryAfter] == "60")
            #expect(try await call(.post, "/v1/jobs/batch", headers: ndjson, body: job).problem == .tooManyBytes)
            // What leaves nothing needs no room.
            let head = #"{"request": {"url": "http://a.example/", "method": "HEAD"}}"#
            #expect(try await call(.post, "/v1/jobs", body: head).status == .accepted)
            let id = try #require(blob.json?["id"]?.string)
            #expect(try await call(.delete, "/v1/blobs/\(id)").status == .noContent)
            #expect(try await call(.post, "/v1/jobs", body: job).status == .accepted)
        }
        #expect(server.metrics.text.contains(#"fetchd_limit_refusals_total{limit="storedBytes"} 2"#))
    }

    @Test(arguments: [-3600, 10 * 86_400])
    func `whatever the clocks say, nobody is sent away for longer than a day`(seconds: Int) async throws {
        let server = try await TestServer(limits: [.maximumBytesPerDay: 1])
        server.traffic.beginDay(endingAt: Timestamp.now.advanced(by: .seconds(seconds)))
        _ = try await server.traffic.add([server.key.tenant: Traffic(sentBytes: 1)], reading: [])
        try await server.test { call async throws in
            let refused = try await call(.post, "/v1/jobs", body: #"{"request": {"url": "http://a.example/"}}"#)
            #expect(refused.headers[.retryAfter] == (seconds < 0 ? "1" : "86400"))
        }
    }

    @Test func `a tenant sees what it uses and may use, and operators see it too`() async throws {
        let server = try await TestServer(limits: [.maximumRequestsPerSecond: 100, .maximumSessions: 7])
        let (_, token) = try await server.keys.create(name: "operator", tenant: "test", scopes: .all)
        try await server.test { call async throws in
            let usage = try #require(try await call(.get, "/v1/usage").json)
            #expect(usage["requestsPerSecond"]?["maximum"]?.integer == 100)
            #expect(usage["sessions"]?["count"]?.integer == 0 && usage["sessions"]?["maximum"]?.integer == 7)
            #expect(usage["runningJobs"]?["maximum"] == nil && usage["bytesOfDay"]?["count"]?.integer == 0)
            let path = "/v1/admin/tenants/a%2Fb/usage"
            #expect(try await call(.get, path).problem == .scopeRequired)
            let operators = call.with("Bearer \(token.revealed)")
            #expect(try await operators(.get, path).json?["sessions"]?["maximum"]?.integer == 7)
            #expect(try await operators(.get, "/v1/admin/tenants/nobody/usage").problem == .notFound)
            #expect(try await call(.get, "/v1/usage?x=1").problem == .invalidParameter)
        }
    }
}
