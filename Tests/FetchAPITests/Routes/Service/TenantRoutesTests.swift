import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

/// The shares of tenants, for operators.
@Suite struct TenantRoutesTests {
    private static let path = "/v1/admin/tenants"

    private func test(_ body: @escaping @Sendable (TestCalls) async throws -> Void) async throws {
        let server = try await TestServer()
        let (_, token) = try await server.keys.create(name: "operator", tenant: "test", scopes: .all)
        try await server.test { client in
            try await body(client.with("Bearer \(token.revealed)"))
        }
    }

    @Test func `a tenant's key is refused, and an operator's is a tenant's too`() async throws {
        try await TestServer().test { call async throws in
            for path in [Self.path, "\(Self.path)/default"] {
                let answer = try await call(.get, path)
                #expect(answer.status == .forbidden && answer.problem == .scopeRequired)
            }
            let change = try await call(.patch, "\(Self.path)/default", body: #"{"weight": 9}"#)
            #expect(change.problem == .scopeRequired)
            #expect(try await call(.get, Self.path, headers: [.authorization: ""]).problem == .unauthorized)
        }
        try await test { call async throws in #expect(try await call(.get, "/v1/jobs").status == .ok) }
    }

    @Test func `tenants are listed in pages`() async throws {
        try await test { call async throws in
            let first = try await call(.get, "\(Self.path)?limit=2")
            #expect(first.json?["data"]?[1]?["name"]?.string == "crawler")
            let cursor = try #require(first.json?["nextCursor"]?.string)
            let last = try await call(.get, "\(Self.path)?limit=2&cursor=\(cursor)")
            #expect(last.json?["data"]?[0]?["name"]?.string == "a/b" && last.json?["hasMore"]?.bool == false)
            #expect(try await call(.get, "\(Self.path)?cursor=x").problem == .invalidParameter)
        }
    }

    // R3, R38
    @Test func `a share is changed in part, and null takes a member back`() async throws {
        try await test { call async throws in
            let path = "\(Self.path)/a%2Fb"
            let changed = try await call(.patch, path, body: #"{"weight": 5, "maximumWaitingJobs": 1000}"#)
            #expect(changed.json?["weight"]?.integer == 5)
            #expect(changed.json?["maximumWaitingJobs"]?.integer == 1000)
            let back = try await call(.patch, path, body: #"{"maximumWaitingJobs": null}"#)
            #expect(back.json?["weight"]?.integer == 5 && back.json?["maximumWaitingJobs"] == nil)
            #expect(try await call(.get, path).bytes == back.bytes)
            #expect(try await call(.patch, "\(Self.path)/nobody", body: "{}").problem == .notFound)
        }
    }

    @Test(arguments: [
        (#"{"weight": 0}"#, "/weight"), (#"{"weight": 101}"#, "/weight"),
        (#"{"maximumWaitingJobs": 0}"#, "/maximumWaitingJobs"), (#"{"name": "x"}"#, "/name"),
        (#"{"maximumBytesPerSecond": 1}"#, "/maximumBytesPerSecond"),
        (#"{"maximumRequestsPerSecond": 0}"#, "/maximumRequestsPerSecond"),
        (#"{"maximumRequestsPerSecond": 1000001}"#, "/maximumRequestsPerSecond"),
        (#"{"maximumRunningJobs": 0}"#, "/maximumRunningJobs"),
        (#"{"maximumBytesPerDay": -1}"#, "/maximumBytesPerDay"),
        (#"{"maximumBytesPerDay": 1.5}"#, "/maximumBytesPerDay"),
        (#"{"maximumSessions": "1"}"#, "/maximumSessions"),
        (#"{"maximumOpenQuestions": 1000000001}"#, "/maximumOpenQuestions"),
    ])
    func `what breaks a rule changes nothing`(_ body: String, _ pointer: String) async throws {
        try await test { call async throws in
            let answer = try await call(.patch, "\(Self.path)/default", body: body)
            #expect(answer.json?["errors"]?[0]?["pointer"]?.string == pointer)
            #expect(try await call(.get, "\(Self.path)/default").json?["weight"]?.integer == 1)
        }
    }
}
