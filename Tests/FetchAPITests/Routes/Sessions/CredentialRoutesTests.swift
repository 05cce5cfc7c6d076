import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct CredentialRoutesTests {
    private static let space = #""protectionSpace": {"host": "H.Example", "authenticationMethod": "httpBasic"}"#

    // Proves: CRD-1, CRD-3, SEC-52.
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

    // Proves: CRD-2.
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

    // Proves: CRD-2.
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
            #"{"protectionSpace": {"host": "a", "authenticationMethod": "ntlm", "realm": "r"}, "user": "u", "password": "p"}"#,
            "/protectionSpace"
        ),
        (
            #"{"protectionSpace": {"host": "a", "protocol": "socks5", "authenticationMethod": "default"}, "user": "u", "password": "p"}"#,
            "/protectionSpace/protocol"
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

    // R61: a request that would read a secret by sending it somewhere is refused.
    @Test(arguments: [
        ("https://h.example/", "", true), ("https://H.example:443/x?y", "", true), ("http://h.example/", "", false),
        ("https://h.example:444/", "", false), ("https://a.h.example/", "", false),
        ("https://h.example/", #", "session": "default""#, true), ("ftp://h.example/", "", false),
    ])
    func `a stored credential is named for its own server only`(url: String, more: String, isTaken: Bool) async throws {
        try await TestServer().test { call async throws in
            let stored = try await call(
                .post, "/v1/credentials", body: #"{\#(Self.space), "user": "u", "password": "p"}"#)
            let id = try #require(stored.json?["id"]?.string)
            let body =
                #"{"request": {"url": "\#(url)"}, "configuration": {"authentication": {"credential": "\#(id)"}}\#(more)}"#
            let answer = try await call(.post, "/v1/jobs", body: body)
            #expect((answer.status == .accepted) == isTaken, "\(answer.text)")
            guard !isTaken, !url.hasPrefix("ftp") else { return }
            #expect(answer.problem == .invalidInput)
            let error = answer.json?["errors"]?[0]
            #expect(error?["pointer"]?.string == "/configuration/authentication/credential")
            #expect(error?["message"]?.string?.contains("(credentialOutOfSpace)") == true)
        }
    }

    @Test func `a credential that is not there cannot be named`() async throws {
        try await TestServer().test { call async throws in
            let name = #""configuration": {"authentication": {"credential": "crd_01jd3v8m5qf0t8n4r6w2y9bcde"}}"#
            for (path, body) in [
                ("/v1/jobs", #"{"request": {"url": "https://h.example/"}, \#(name)}"#), ("/v1/sessions", "{\(name)}"),
            ] {
                let answer = try await call(.post, path, body: body)
                #expect(answer.problem == .invalidInput && answer.text.contains("is not a credential of yours"))
            }
        }
    }
}
