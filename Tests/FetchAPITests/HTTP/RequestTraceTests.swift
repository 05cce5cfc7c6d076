import FetchJobs
import FetchRuntime
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// Requests of the API that are part of a trace.
@Suite struct RequestTraceTests {
    private static let parent = "00-12345678901234567890123456789012-1234567890123456-01"
    private static let job = #"{"request": {"url": "https://origin.example/?secret=sesame"}}"#

    private func server(_ configuration: Tracer.Configuration? = nil) async throws -> TestServer {
        var server = try await TestServer()
        server.tracer = configuration.map { Tracer(configuration: $0) }
        return server
    }

    /// The trace of the job that an answer names, as it is stored.
    private func trace(_ answer: TestAnswer, _ server: TestServer) async throws -> TraceContext? {
        let id = try #require(answer.json?["id"]?.string.flatMap { Job.ID($0) }, "\(answer.text)")
        return try #require(try await server.jobs.job(id, of: server.key.tenant)?.storedSpec).trace
    }

    @Test(arguments: [nil, Tracer.Configuration(sampler: .alwaysOff)])
    func `without spans of requests, a job gets the trace of its request, and other nodes too`(
        _ configuration: Tracer.Configuration?
    ) async throws {
        let server = try await server(configuration)
        let owner = "http://10.0.0.1:8080"
        let headers: HTTPFields = [.traceparent: Self.parent, .tracestate: "a=1, b=2"]
        try await server.test { call async throws in
            let answer = try await call(.post, "/v1/jobs", headers: headers, body: Self.job)
            let trace = try #require(try await trace(answer, server))
            #expect(trace.trace.description == "12345678901234567890123456789012")
            #expect(trace.span.description == "1234567890123456" && trace.state?.text == "a=1,b=2")
            #expect(trace.isSampled == (configuration == nil))
            let id = try #require(answer.json?["id"]?.string.flatMap { Job.ID($0) })
            server.nodes.add(NodeAddress(id: Node.ID(), url: owner), of: id, server.key.tenant)
            server.nodes.answer(at: owner, with: NodeAnswer(status: .notModified, headers: [:]) { nil })
            _ = try await call(.get, "/v1/jobs/\(id)/body", headers: headers)
            let request = try #require(server.nodes.requests.first)
            #expect(request.headers[.traceparent] == trace.parent)
            #expect(request.headers[.tracestate] == "a=1,b=2")
        }
    }

    @Test func `a malformed trace is none, and none is made where nobody records it`() async throws {
        let server = try await server()
        try await server.test { call async throws in
            for parent in ["00-1234", Self.parent.uppercased() + "-0", ""] {
                let headers: HTTPFields = [.traceparent: parent, .tracestate: "a=1"]
                let answer = try await call(.post, "/v1/jobs", headers: headers, body: Self.job)
                #expect(try await trace(answer, server) == nil)
            }
        }
    }

    @Test func `a request is a span below its caller's, and its job goes on from there`() async throws {
        let server = try await server(.init())
        let tracer = try #require(server.tracer)
        try await server.test { call async throws in
            let headers: HTTPFields = [.traceparent: Self.parent, .tracestate: "a=1", .requestID: "r1"]
            let answer = try await call(.post, "/v1/jobs", headers: headers, body: Self.job)
            let span = try #require(tracer.take().first)
            #expect(span.name == "POST /v1/jobs" && span.kind == .server && span.hasRemoteParent)
            #expect(span.parent?.description == "1234567890123456" && span.error == nil)
            #expect(span.context.trace.description == "12345678901234567890123456789012")
            #expect(try await trace(answer, server) == span.context)
            let attributes = Dictionary(uniqueKeysWithValues: span.attributes.map { ($0.name, $0.value) })
            #expect(attributes["http.request.method"] == .text("POST"))
            #expect(attributes["http.route"] == .text("/v1/jobs"))
            #expect(attributes["http.response.status_code"] == .number(202))
            #expect(attributes["fetchd.request.id"] == .text("r1"))
            #expect(attributes["fetchd.tenant.id"] == .text("\(server.key.tenant)"))
            #expect(!"\(span)".contains("sesame"))
        }
    }

    @Test func `a request without a trace begins one, and a query is not told`() async throws {
        let server = try await server(.init())
        let tracer = try #require(server.tracer)
        try await server.test { call async throws in
            _ = try await call(.get, "/v1/jobs?label=sesame:1")
            let span = try #require(tracer.take().first)
            #expect(span.name == "GET /v1/jobs" && span.parent == nil && !span.hasRemoteParent)
            #expect(!"\(span)".contains("sesame"))
            _ = try await call(.get, "/v1/jobs/\(Job.ID())")
            let missing = try #require(tracer.take().first)
            #expect(missing.name == "GET /v1/jobs/{id}" && missing.error == nil)
        }
    }

    @Test func `pages, checks and what is nowhere are no part of a trace`() async throws {
        let server = try await server(.init())
        try await server.test { call async throws in
            for path in ["/healthz", "/readyz", "/metrics", "/dashboard", "/docs", "/v1/nothing"] {
                _ = try await call(.get, path, headers: [.traceparent: Self.parent])
            }
        }
        #expect(server.tracer?.take().isEmpty == true)
    }

    @Test func `a request that is repeated in another trace is the same`() async throws {
        let server = try await server()
        try await server.test { call async throws in
            var ids: Set<String> = []
            for parent in [Self.parent, "00-22345678901234567890123456789012-1234567890123456-00", ""] {
                let headers: HTTPFields = [.traceparent: parent, .idempotencyKey: "once"]
                let answer = try await call(.post, "/v1/jobs", headers: headers, body: Self.job)
                ids.insert(try #require(answer.json?["id"]?.string, "\(answer.text)"))
            }
            #expect(ids.count == 1)
        }
    }

    @Test func `all jobs of a batch are in the trace of their request`() async throws {
        let server = try await server()
        try await server.test { call async throws in
            let headers: HTTPFields = [.traceparent: Self.parent, .contentType: "application/x-ndjson"]
            let answer = try await call(
                .post, "/v1/jobs/batch", headers: headers, body: "\(Self.job)\n\(Self.job)\n")
            let ids = answer.text.matches(of: /job_\w{26}/).compactMap { Job.ID($0.0) }
            #expect(ids.count == 2, "\(answer.text)")
            for id in ids {
                let spec = try await server.jobs.job(id, of: server.key.tenant)?.storedSpec
                #expect(spec?.trace?.parent == Self.parent)
            }
        }
    }
}
