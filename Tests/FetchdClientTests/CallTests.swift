import FetchEngine
import FetchdClient
import TestSupport
import Testing

/// Calls, their repeats and their failures, byte by byte.
@Suite(.timeLimit(.minutes(1))) struct CallTests {
    private static let submitted = #"{"id": "job_1", "state": "queued", "href": "/v1/jobs/job_1"}"#

    @Test func `a submission that is refused or lost is sent again with the same key`() async throws {
        let origin = try ServiceOrigin(
            answer("503 Service Unavailable", "{}", "Retry-After: 0"), ServiceOrigin.nothing,
            answer("202 Accepted", Self.submitted))
        let job = try await origin.service.jobs.submit(Request("https://a.example/"), wait: .seconds(3))
        #expect(job.id == "job_1" && job.state == .queued)
        let keys = origin.values(of: "Idempotency-Key")
        #expect(keys.count == 3 && Set(keys).count == 1 && keys.first?.isEmpty == false)
        #expect(origin.heads.allSatisfy { $0.hasPrefix("POST /v1/jobs HTTP/1.1") })
        #expect(Set(origin.values(of: "User-Agent")) == ["fetchd-swift/1.0"])
        #expect(Set(origin.values(of: "Authorization")) == ["Bearer fk_secret"])
        #expect(Set(origin.values(of: "Prefer")) == ["wait=3"])
    }

    @Test func `each call has a key of its own, or the one that it is given`() async throws {
        let accepted = answer("202 Accepted", Self.submitted)
        let origin = try ServiceOrigin(accepted, accepted, accepted)
        let request = try Request("https://a.example/")
        for _ in 0..<2 { _ = try await origin.service.jobs.submit(request) }
        _ = try await origin.service.jobs.submit(request, idempotencyKey: "order-42")
        #expect(Set(origin.values(of: "Idempotency-Key")).count == 3)
        #expect(origin.values(of: "Idempotency-Key").last == "order-42")
    }

    @Test func `a call whose first try is being carried out waits for its answer`() async throws {
        let running = #"{"title": "Taken.", "code": "idempotencyKeyInUse"}"#
        let origin = try ServiceOrigin(
            ServiceOrigin.nothing, answer("409 Conflict", running, "Retry-After: 0"),
            answer("202 Accepted", Self.submitted), answer("409 Conflict", running))
        _ = try await origin.service.jobs.submit(Request("https://a.example/"))
        #expect(origin.heads.count == 3 && Set(origin.values(of: "Idempotency-Key")).count == 1)
        let error = await #expect(throws: FetchdError.self) {
            _ = try await origin.service.jobs.submit(Request("https://a.example/"))
        }
        #expect(error?.code == .idempotencyKeyInUse && origin.heads.count == 4)
    }

    @Test func `a call is repeated three times, and then its failure is told`() async throws {
        let busy = answer("429 Too Many Requests", #"{"title": "Busy.", "code": "queueFull"}"#, "Retry-After: 0")
        let origin = try ServiceOrigin(busy, busy, busy, busy, busy)
        let error = await #expect(throws: FetchdError.self) { _ = try await origin.service.jobs.get("job_1") }
        #expect(error?.code.rawValue == "queueFull" && error?.isRetryable == true)
        #expect(origin.heads.count == 4)
    }

    @Test func `a body that comes once is sent once`() async throws {
        let origin = try ServiceOrigin(ServiceOrigin.nothing)
        var request = try Request("https://a.example/")
        request.body = .stream(length: 4, OneStream(bytes: Array("once".utf8)))
        let error = await #expect(throws: FetchdError.self) { _ = try await origin.service.jobs.submit(request) }
        #expect(error?.code == .bodyNotRepeatable && error?.isRetryable == false)
        #expect(origin.heads.count == 1 && origin.heads.first?.hasSuffix("once") == true)
    }

    @Test func `a problem has its code, sentences, broken rules and request`() async throws {
        let problem = #"""
            {"type": "/docs/problems/invalidInput", "title": "The input is invalid.", "status": 422, "code": "invalidInput",
             "detail": "One member breaks a rule.", "errors": [{"pointer": "/request/url", "message": "is no URL"}]}
            """#
        let origin = try ServiceOrigin(answer("422 Unprocessable Content", problem, "Request-Id: req_7"))
        let error = await #expect(throws: FetchdError.self) {
            _ = try await origin.service.jobs.submit(Request("https://a.example/"))
        }
        #expect(error?.code.rawValue == "invalidInput" && error?.status == 422 && error?.requestID == "req_7")
        #expect(error?.isRetryable == false && error?.brokenRules.first?.place == "/request/url")
        #expect(error.map { "\($0)" } == "invalidInput: The input is invalid. One member breaks a rule. (req_7)")
        #expect(origin.heads.count == 1)
    }

    @Test func `the key is in no text about the client`() throws {
        let service = FetchdService(url: "http://127.0.0.1:1", key: APIKey("fk_secret"))
        var dumped = ""
        dump(service, to: &dumped)
        #expect(!dumped.contains("fk_secret") && !"\(service)".contains("fk_secret"))
        #expect(!String(reflecting: APIKey("fk_secret")).contains("fk_secret"))
    }

    @Test(arguments: ["ftp://a.example", "http://u:p@a.example", "http://a.example/?q=1", "here"])
    func `a URL that cannot be that of a service is told at the first call`(_ url: String) async throws {
        let service = FetchdService(url: url, key: APIKey("fk_secret"))
        let error = await #expect(throws: FetchdError.self) { _ = try await service.jobs.get("job_1") }
        #expect(error?.code == .urlInvalid)
    }

    @Test func `a key that is missing is told at the first call`() async throws {
        let service = FetchdService(url: "http://127.0.0.1:1", key: .environment("FETCHD_NO_SUCH_KEY"))
        let error = await #expect(throws: FetchdError.self) { _ = try await service.jobs.get("job_1") }
        #expect(error?.code == .keyInvalid)
    }

    @Test func `an id cannot lead to another path`() async throws {
        let origin = try ServiceOrigin(answer("404 Not Found", "{}"))
        await #expect(throws: FetchdError.self) { _ = try await origin.service.jobs.get("../keys?x=1") }
        #expect(origin.heads.first?.hasPrefix("GET /v1/jobs/..%2Fkeys%3Fx%3D1 HTTP/1.1") == true)
    }

    @Test func `a list goes over all pages, and empty ones among them`() async throws {
        func job(_ id: String) -> String {
            #"{"id": "\#(id)", "state": "failed", "createdAt": "2026-11-21T10:52:00Z", "method": "GET", "url": "http://a/"}"#
        }
        let origin = try ServiceOrigin(
            answer("200 OK", #"{"data": [\#(job("a")), \#(job("b"))], "hasMore": true, "nextCursor": "c/1"}"#),
            answer("200 OK", #"{"data": [], "hasMore": true, "nextCursor": "c2"}"#),
            answer("200 OK", #"{"data": [\#(job("c"))], "hasMore": false}"#))
        var ids: [String] = []
        for try await job in origin.service.jobs.list(state: .failed, label: "a:b c") { ids.append(job.id) }
        #expect(ids == ["a", "b", "c"])
        let query = "/v1/jobs?state=failed&label=a%3Ab%20c"
        #expect(
            origin.heads.map { String($0.split(separator: " ")[1]) } == [
                query, query + "&cursor=c%2F1", query + "&cursor=c2",
            ])
    }
}
