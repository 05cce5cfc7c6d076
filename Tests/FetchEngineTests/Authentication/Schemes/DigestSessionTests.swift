import Foundation
import Testing

@testable import FetchEngine

/// One row of `vectors.json`.
struct DigestVector: Decodable, CustomTestStringConvertible {
    struct File: Decodable {
        var http_digest_auth: [DigestVector]
    }

    var name: String
    var algorithm: String
    var user: String
    var realm: String
    var password: String
    var method: String
    var uri: String
    var nonce: String
    var cnonce: String?
    var qop: String?
    var body: String?
    var response: String
    var userhash: String?

    var testDescription: String { name }

    static func all() throws -> [DigestVector] {
        let url = try #require(Bundle.module.url(forResource: "Resources/digest/vectors", withExtension: "json"))
        return try JSONDecoder().decode(File.self, from: Data(contentsOf: url)).http_digest_auth
    }

    /// The challenge that leads to this row.
    func session(_ more: String = "") throws -> DigestSession {
        try DigestSessionTests.session(
            "realm=\"\(realm)\", nonce=\"\(nonce)\", algorithm=\(algorithm)"
                + (qop.map { ", qop=\"\($0)\"" } ?? "") + more)
    }
}

@Suite struct DigestSessionTests {
    static func session(_ parameters: String) throws -> DigestSession {
        var parser = AuthenticationFieldParser()
        parser.read(Array(("Digest " + parameters).utf8))
        let offered = try #require(parser.challenges.first)
        return DigestSession(try #require(DigestChallenge(offered)))
    }

    private static func text(_ answer: [UInt8]?) -> String { String(decoding: answer ?? [], as: UTF8.self) }

    private static let target = DigestSession.Target(method: "GET", uri: "/")

    // Proves: AUT-23.
    @Test(arguments: try DigestVector.all())
    func `the answer is that of the standard`(vector: DigestVector) throws {
        var session = try vector.session()
        let hash = session.challenge.algorithm.hash(Array((vector.body ?? "").utf8))
        let target = DigestSession.Target(method: vector.method, uri: vector.uri, contentHash: hash)
        let answer = session.answer(
            user: vector.user, password: vector.password, to: target, clientNonce: Array((vector.cnonce ?? "").utf8))
        #expect(Self.text(answer).contains("response=\"\(vector.response)\""))
        #expect(Self.text(answer).contains(", nc=00000001") == (vector.qop != nil))
    }

    // Proves: AUT-23.
    @Test func `the whole field is as RFC 7616 prints it`() throws {
        let vector = try #require(try DigestVector.all().first { $0.name == "rfc7616-md5" })
        var session = try vector.session(", opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"")
        let answer = session.answer(
            user: vector.user, password: vector.password, to: .init(method: "GET", uri: vector.uri),
            clientNonce: Array((vector.cnonce ?? "").utf8))
        #expect(
            Self.text(answer) == """
                Digest username="Mufasa", realm="http-auth@example.org", uri="/dir/index.html", algorithm=MD5, \
                nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", nc=00000001, qop=auth, \
                cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", \
                response="8ca523f5e9506fed4657c9700eebdbec", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
                """)
    }

    // Proves: AUT-23.
    @Test func `a user name is hashed, encoded or quoted`() throws {
        let vector = try #require(try DigestVector.all().first { $0.userhash != nil })
        var hashed = try vector.session(", userhash=true, charset=UTF-8")
        let userhash = try #require(vector.userhash)
        let answer = Self.text(
            hashed.answer(user: vector.user, password: vector.password, to: Self.target, clientNonce: [0x41]))
        #expect(answer.hasPrefix("Digest username=\"\(userhash)\""))
        #expect(answer.hasSuffix("userhash=true"))
        var encoded = try vector.session(", charset=UTF-8")
        #expect(
            Self.text(encoded.answer(user: "Jäsøn Doe", password: "p", to: Self.target, clientNonce: [0x41]))
                .hasPrefix("Digest username*=UTF-8''J%C3%A4s%C3%B8n%20Doe, "))
        var quoted = try vector.session()
        #expect(
            Self.text(quoted.answer(user: "J\"ä\\", password: "p", to: Self.target, clientNonce: [0x41]))
                .hasPrefix("Digest username=\"J\\\"ä\\\\\", "))
    }

    // Proves: AUT-23.
    @Test func `the count grows with each answer and starts again with a new nonce`() throws {
        var session = try Self.session("realm=\"r\", nonce=\"n\", qop=auth, algorithm=SHA-256-sess")
        let answers = (1...16).map { number in
            Self.text(session.answer(user: "u", password: "p", to: Self.target, clientNonce: [UInt8(0x40 + number)]))
        }
        #expect(answers[0].contains("nc=00000001,") && answers[15].contains("nc=00000010,"))
        // The key of a session is made with the first nonce of the client, so that one stays.
        #expect(answers.allSatisfy { $0.contains("cnonce=\"A\"") })
        session.renew(nonce: Array("m".utf8))
        let renewed = Self.text(session.answer(user: "u", password: "p", to: Self.target, clientNonce: [0x5A]))
        #expect(renewed.contains("nonce=\"m\", nc=00000001,") && renewed.contains("cnonce=\"Z\""))
    }

    @Test func `without qop the answer is that of RFC 2069`() throws {
        var session = try Self.session("realm=\"r\", nonce=\"n\"")
        let answer = Self.text(session.answer(user: "u", password: "p", to: Self.target, clientNonce: [0x41]))
        #expect(answer.hasPrefix("Digest username=\"u\", realm=\"r\", uri=\"/\", nonce=\"n\", response=\""))
        #expect(!answer.contains("nc=") && !answer.contains("qop") && !answer.contains("algorithm"))
    }

    // Proves: AUT-23.
    @Test func `auth is preferred to auth-int, which needs the hash of the content`() throws {
        #expect(try Self.session("realm=\"r\", nonce=\"n\", qop=\"auth-int, auth\"").challenge.protection == .auth)
        var session = try Self.session("realm=\"r\", nonce=\"n\", qop=\"auth-int\"")
        #expect(session.answer(user: "u", password: "p", to: Self.target, clientNonce: [0x41]) == nil)
    }
}
