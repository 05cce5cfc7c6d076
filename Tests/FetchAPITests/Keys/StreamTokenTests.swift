import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// Tokens with which a browser follows the events of a job.
@Suite struct StreamTokenTests {
    /// The answer to a stream that is over at once tells whether its client was let in.
    private static let over: HTTPFields = [.authorization: "", .lastEventID: "final"]

    private static func token(_ call: TestCalls, _ job: Job.ID) async throws -> String {
        let answer = try await call(.post, "/v1/jobs/\(job)/events/token")
        try #require(answer.status == .ok, "\(answer.text)")
        return try #require(answer.json?["token"]?.string)
    }

    @Test func `a token opens the events of its job, and nothing else`() async throws {
        let server = try await TestServer()
        let (job, other) = (try await server.queueJob(), try await server.queueJob())
        try await server.test { call in
            let made = try await call(.post, "/v1/jobs/\(job)/events/token")
            let href = try #require(made.json?["href"]?.string)
            let end = try #require(made.json?["expiresAt"]?.string.flatMap { Timestamp(rfc3339: $0) })
            #expect(end > .now && end <= Timestamp.now.advanced(by: .seconds(300)))
            #expect(made.headers[.cacheControl] == "no-store")
            let token = try #require(made.json?["token"]?.string)
            #expect(href == "/v1/jobs/\(job)/events?token=\(token)")
            #expect(try await call(.get, href, headers: Self.over).status == .noContent)
            for path in [
                "/v1/jobs/\(other)/events", "/v1/jobs/\(job)", "/v1/jobs/\(job)/body", "/v1/jobs",
                "/v1/jobs/\(job)/har",
            ] {
                let answer = try await call(.get, "\(path)?token=\(token)", headers: Self.over)
                #expect(answer.problem == .unauthorized, "\(path)")
            }
            let delete = try await call(.post, "/v1/jobs/\(job)/cancel?token=\(token)", headers: Self.over)
            #expect(delete.problem == .unauthorized)
            // A key in its place goes first, whatever the token says.
            let wrong: HTTPFields = [.authorization: "Bearer fk_wrong", .lastEventID: "final"]
            #expect(try await call(.get, href, headers: wrong).problem == .unauthorized)
            #expect(try await call(.post, "/v1/jobs/\(Job.ID())/events/token").problem == .notFound)
        }
    }

    @Test func `a changed token, and one whose key is revoked, open nothing`() async throws {
        let server = try await TestServer()
        let job = try await server.queueJob()
        try await server.test { call in
            let token = try await Self.token(call, job)
            for index in token.indices where token[index] != "." {
                var changed = token
                changed.replaceSubrange(index...index, with: token[index] == "1" ? "2" : "1")
                let secret = try await server.signIns.secret()
                #expect(StreamToken(changed, job: job, secret: secret, now: Timestamp.now.seconds) == nil, "\(changed)")
            }
            let path = "/v1/jobs/\(job)/events?token="
            for text in [
                "", "fs_1", String(token.dropLast()), token + "x", "%3Cb%3E", String(repeating: "a", count: 2000),
            ] {
                #expect(try await call(.get, path + text, headers: Self.over).problem == .unauthorized, "\(text)")
            }
            _ = try await server.keys.revoke(server.key.id, of: server.key.tenant)
            #expect(try await call(.get, path + token, headers: Self.over).problem == .unauthorized)
        }
    }

    @Test func `a token is over after five minutes, and good at every node of the service alone`() throws {
        let secret = SessionSecret()
        let (job, key) = (Job.ID(), APIKey.ID())
        let token = StreamToken(tenant: Tenant.ID(rawValue: 7), job: job, key: key, now: 1000)
        let text = token.text(secret)
        #expect(StreamToken(text, job: job, secret: secret, now: 1299) == token)
        #expect(StreamToken(text, job: job, secret: secret, now: 1300) == nil)
        #expect(StreamToken(text, job: job, secret: SessionSecret(), now: 1000) == nil)
        #expect(StreamToken(text, job: Job.ID(), secret: secret, now: 1000) == nil)
        #expect(text.percentEncoded == text, "it needs no escapes in a URL")
    }

    @Test func `wrong tokens count as wrong keys do`() async throws {
        let server = try await TestServer()
        let job = try await server.queueJob()
        try await server.test { call in
            var last: ProblemCode?
            for _ in 0..<20 {
                last = try await call(.get, "/v1/jobs/\(job)/events?token=fs_x", headers: Self.over).problem
            }
            #expect(last == .tooManyFailures)
        }
    }
}
