import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// Revoking JSON Web Tokens, for operators.
@Suite struct TokenRevocationRoutesTests {
    private static let path = "/v1/admin/token-revocations"

    private func test(_ body: @escaping @Sendable (TestCalls) async throws -> Void) async throws {
        let server = try await TestServer()
        let (_, token) = try await server.keys.create(name: "operator", tenant: "test", scopes: .all)
        try await server.test { client in try await body(client.with("Bearer \(token.revealed)")) }
    }

    @Test func `a tenant's key is refused`() async throws {
        try await TestServer().test { call async throws in
            #expect(try await call(.get, Self.path).problem == .scopeRequired)
            #expect(try await call(.post, Self.path, body: #"{"jti": "a"}"#).problem == .scopeRequired)
            let id = TokenRevocation.ID()
            #expect(try await call(.delete, "\(Self.path)/\(id)").problem == .scopeRequired)
        }
    }

    @Test func `what is revoked is listed in pages, and taken back`() async throws {
        try await test { call async throws in
            let made = try await call(.post, Self.path, body: #"{"jti": "6f1c"}"#)
            #expect(made.status == .created && made.json?["jti"]?.string == "6f1c" && made.json?["sub"] == nil)
            let subject = try await call(.post, Self.path, body: #"{"sub": "ada"}"#)
            #expect(subject.json?["sub"]?.string == "ada")
            let again = try await call(.post, Self.path, body: #"{"sub": "ada"}"#)
            #expect(again.status == .created && again.json?["id"] == subject.json?["id"])
            let first = try await call(.get, "\(Self.path)?limit=1")
            #expect(first.json?["data"]?[0] == made.json && first.json?["hasMore"]?.bool == true)
            let cursor = try #require(first.json?["nextCursor"]?.string)
            let last = try await call(.get, "\(Self.path)?limit=1&cursor=\(cursor)")
            #expect(last.json?["data"]?[0] == again.json && last.json?["hasMore"]?.bool == false)
            let id = try #require(made.json?["id"]?.string)
            #expect(try await call(.delete, "\(Self.path)/\(id)").status == .noContent)
            #expect(try await call(.delete, "\(Self.path)/\(id)").problem == .notFound)
            #expect(try await call(.get, Self.path).json?["data"]?[0] == again.json)
        }
    }

    @Test(arguments: [
        ("{}", ""), (#"{"jti": "a", "sub": "b"}"#, ""), (#"{"jti": ""}"#, "/jti"), (#"{"sub": 7}"#, "/sub"),
        (#"{"token": "a"}"#, "/token"),
    ])
    func `what breaks a rule revokes nothing`(_ body: String, _ pointer: String) async throws {
        try await test { call async throws in
            let answer = try await call(.post, Self.path, body: body)
            #expect(answer.problem == .invalidInput)
            #expect(answer.json?["errors"]?[0]?["pointer"]?.string == pointer)
            let long = String(repeating: "a", count: 257)
            #expect(try await call(.post, Self.path, body: #"{"jti": "\#(long)"}"#).problem == .invalidInput)
            #expect(try await call(.get, Self.path).json?["data"]?[0] == nil)
        }
    }
}
