import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct CredentialRoutesTests {
    private static let space = #""protectionSpace": {"host": "H.Example", "authenticationMethod": "httpBasic"}"#

    // CRD-1, CRD-3
    @Test func `a credential is stored, listed and removed, and its secret never shown`() async throws {
        try await TestServer().test { call async throws in
            let body = #"{\#(Self.space), "user": "u", "password": "canary-81f"}"#
            let created = try await call(.post, "/v1/credentials", body: body)
            #expect(created.status == .created, "\(created.text)")
            let location = try #require(created.headers[.location])
            let one = try await call(.get, location)
            let list = try await call(.get, "/v1/credentials?host=h.example")
            for answer in [created, one, list] { #expect(!answer.text.contains("canary")) }
            #expect(one.json?["protectionSpace"]?["host"]?.string == "h.example")
            #expect(one.json?["protectionSpace"]?["port"]?.integer == 443)
            #expect(one.json?["kind"]?.string == "password" && one.json?["user"]?.string == "u")
            #expect(one.json?["persistence"]?.string == "permanent")
            #expect(list.json?["data"]?[0]?["id"] == one.json?["id"])
            #expect(try await call(.delete, location).status == .noContent)
            #expect(try await call(.delete, location).problem == .notFound)
            #expect(try await call(.get, location).problem == .notFound)
        }
    }

    // CRD-2
    @Test func `a credential is kept for its session or for all`() async throws {
        try await TestServer().test { call async throws in
            let made = try await call(.post, "/v1/sessions", body: "{}")
            let session = try #require(made.json?["id"]?.string)
            let body =
                #"{"session": "\#(session)", "persistence": "forSession", \#(Self.space), "user": "u", "password": "p"}"#
            #expect(try await call(.post, "/v1/credentials", body: body).status == .created)
            #expect(try await call(.get, "/v1/credentials").json?["data"]?[0] == nil)
            #expect(try await call(.get, "/v1/credentials?session=\(session)").json?["data"]?[0] != nil)
            let removed = try await call(.delete, "/v1/credentials?session=\(session)")
            #expect(removed.json?["removed"]?.integer == 1)
        }
    }

    // CRD-2
    @Test(arguments: [
        (#"{\#(space), "user": "u", "password": "p", "bearerToken": "t"}"#, ""),
        (#"{\#(space), "user": "u"}"#, ""),
        (#"{\#(space), "password": "p"}"#, "/user"),
        (#"{\#(space), "bearerToken": "t"}"#, "/protectionSpace/authenticationMethod"),
        (#"{\#(space), "user": "u:v", "password": "p"}"#, "/protectionSpace/authenticationMethod"),
        (#"{\#(space), "user": "u", "password": "p", "persistence": "none"}"#, "/persistence"),
        (#"{\#(space), "user": "u", "password": "p", "passphrase": "x"}"#, "/passphrase"),
        (#"{\#(space), "certificateChain": "x", "privateKey": "y"}"#, ""),
        (#"{\#(space), "user": "a@B", "keytab": "x"}"#, "/keytab"),
        (#"{\#(space), "user": "a@B", "keytab": "BQIAAA=="}"#, "/protectionSpace/authenticationMethod"),
        (
            #"{"protectionSpace": {"host": "a/b", "authenticationMethod": "ntlm"}, "user": "u", "password": "p"}"#,
            "/protectionSpace/host"
        ),
        (
            #"{"protectionSpace": {"host": "a", "authenticationMethod": "serverTrust"}, "user": "u", "password": "p"}"#,
            "/protectionSpace/authenticationMethod"
        ),
    ])
    func `what is no credential is refused with the place`(body: String, pointer: String) async throws {
        try await TestServer().test { call async throws in
            let answer = try await call(.post, "/v1/credentials", body: body)
            #expect(answer.problem == .invalidInput, "\(answer.text)")
            #expect(answer.json?["errors"]?[0]?["pointer"]?.string == pointer, "\(answer.text)")
        }
    }
}
