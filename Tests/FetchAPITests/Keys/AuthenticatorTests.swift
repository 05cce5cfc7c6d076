import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct AuthenticatorTests {
    // Proves: SEC-43.
    @Test func `whatever is wrong with a key, the answer is the same`() async throws {
        let server = try await TestServer()
        let stranger = APIKeyToken(id: APIKey.ID()).revealed
        try await server.test { call async throws in
            var bodies: Set<String> = []
            for field in ["", "Basic abc", "Bearer ", "Bearer fk_x", "Bearer \(stranger)"] {
                let answer = try await call(
                    .get,
                    "/v1/jobs",
                    headers: [.authorization: field, .requestID: "same"]
                )
                #expect(answer.problem == .unauthorized)
                #expect(answer.headers[.wwwAuthenticate]?.hasPrefix("Bearer") == true)
                bodies.insert(answer.text)
            }
            #expect(bodies.count == 1)
        }
    }

    // Proves: SEC-43.
    @Test func `whoever has no key learns nothing, whatever they ask for`() async throws {
        let server = try await TestServer()
        let authenticator = Authenticator(store: server.keys, limiter: FailureLimiter(limit: 1, totalLimit: 1))
        let routes = Server.routes(server.ports, server.configuration, authenticator)
            .filter { $0.path.hasPrefix("/v1/") && $0.method != .head }
        #expect(routes.count > 80)
        try await server.test { call async throws in
            var bodies: Set<String> = []
            for route in routes {
                let path = route.path.replacing(/\{\w+\}/, with: "x")
                let answer = try await call(
                    route.method, path, headers: [.authorization: "", .requestID: "same"], body: "{")
                #expect(answer.problem == .unauthorized, "\(route.method) \(path): \(answer.text)")
                bodies.insert(answer.text)
            }
            #expect(bodies.count == 1, "\(bodies)")
        }
    }

    // Proves: SEC-43.
    @Test func `keys are not accepted in URLs`() async throws {
        let server = try await TestServer()
        let token = server.token.revealed
        try await server.test { call async throws in
            let answer = try await call(.get, "/v1/jobs?access_token=\(token)", headers: [.authorization: ""])
            #expect(answer.problem == .unauthorized)
        }
    }

    // R65.
    // Proves: SEC-43.
    @Test func `an address that guesses is told to stop, and a valid key passes at any time`() async throws {
        let server = try await TestServer()
        let (_, fresh) = try await server.keys.create(name: "fresh", tenant: "test")
        try await server.test { call async throws in
            for _ in 0..<10 {
                let wrong = APIKeyToken(id: APIKey.ID()).revealed
                #expect(
                    try await call(.get, "/v1/jobs", headers: [.authorization: "Bearer \(wrong)"]).problem
                        == .unauthorized
                )
            }
            for wrong in [APIKeyToken(id: APIKey.ID()).revealed, "fk_x"] {
                let stopped = try await call(.get, "/v1/jobs", headers: [.authorization: "Bearer \(wrong)"])
                #expect(stopped.problem == .tooManyFailures)
                #expect(stopped.headers[.rateLimitPolicy] == "\"failures\";q=10;w=60")
                #expect(stopped.headers[.rateLimit]?.hasPrefix("\"failures\";r=0;t=") == true)
                #expect(stopped.headers[.retryAfter].flatMap { Int($0) }.map { (1...60).contains($0) } == true)
            }
            let valid = try await call(.get, "/v1/jobs", headers: [.authorization: "Bearer \(fresh.revealed)"])
            #expect(valid.status == .ok, "seen for the first time")
            #expect(try await call(.get, "/v1/jobs").status == .ok)
        }
    }

    @Test func `what is no key, or was none a moment ago, is not looked up`() async throws {
        let server = try await TestServer()
        let wrong = APIKeyToken(id: APIKey.ID()).revealed
        let mistyped = String(server.token.revealed.dropLast()) + (server.token.revealed.last == "0" ? "1" : "0")
        try await server.test { call async throws in
            for text in Array(repeating: wrong, count: 20) + ["fk_x", mistyped] {
                let answer = try await call(.get, "/v1/jobs", headers: [.authorization: "Bearer \(text)"])
                #expect([.unauthorized, .tooManyFailures].contains(answer.problem))
            }
        }
        #expect(server.keys.lookups == 1)
    }

    @Test func `a key is looked up once for many requests`() async throws {
        let server = try await TestServer()
        try await server.test { call async throws in
            for _ in 0..<20 { _ = try await call(.get, "/v1/jobs") }
        }
        #expect(server.keys.lookups == 1)
    }

    // Proves: SEC-43.
    @Test func `failures are forgotten after a minute`() {
        let limiter = FailureLimiter(limit: 2, totalLimit: 3)
        let (a, b) = (ClientNetwork(of: "192.0.2.1"), ClientNetwork(of: "192.0.2.2"))
        let start = ContinuousClock.now
        limiter.fail(a, now: start)
        #expect(limiter.wait(for: a, now: start) == nil)
        limiter.fail(a, now: start)
        #expect(limiter.wait(for: a, now: start + .seconds(20)) == 40)
        #expect(limiter.wait(for: b, now: start) == nil)
        limiter.fail(b, now: start)
        #expect(limiter.wait(for: nil, now: start) == 60, "all clients together have a limit too")
        #expect(limiter.wait(for: a, now: start + .seconds(60)) == nil)
    }
}
