import HTTPTypes
import Testing

@testable import FetchEngine

@Suite struct SpaceMemoryTests {
    private static func space(_ method: ProtectionSpace.Method, _ realm: String = "r") -> ProtectionSpace {
        ProtectionSpace(host: "h", port: 80, scheme: "http", realm: realm, method: method)
    }

    private static func offer(_ parameters: String) throws -> AuthenticationOffer {
        try #require(
            AuthenticationOffer.all(
                in: [.wwwAuthenticate: "Digest realm=\"r\", nonce=\"n\", qop=auth, \(parameters)"], status: 401,
                server: .init(host: "h", port: 80, scheme: "http"), proxy: nil
            ).first)
    }

    // Proves: AUT-22.
    @Test func `with Basic the paths at or below the directory belong to the space`() throws {
        var memory = SpaceMemory()
        memory.convinced(Self.space(.httpBasic), at: try URLRecord("http://h/a/b?q"), isPreemptive: true)
        memory.convinced(Self.space(.httpBasic, "inner"), at: try URLRecord("http://h/a/c/d"), isPreemptive: true)
        for (url, realm) in [
            ("http://h/a/", "r"), ("http://h/a/x/y?z", "r"), ("http://h/a/c/e", "inner"), ("http://h/a", nil),
            ("http://h/", nil), ("http://h:81/a/b", nil), ("https://h/a/b", nil), ("http://i/a/b", nil),
            ("http://h/a/../b", nil),
        ] {
            #expect(memory.space(for: try URLRecord(url))?.realm == realm, "\(url)")
        }
    }

    // Proves: AUT-23.
    @Test func `with Digest it is what the server names, on this server alone`() throws {
        for (domain, inside, outside) in [
            ("", "/x", nil), ("domain=\"/a /b/\"", "/b/c", "/c"), ("domain=\"http://h/a\"", "/a/b", "/b"),
            ("domain=\"/a http://evil/\"", "/a", "/b"),
        ] as [(String, String, String?)] {
            var memory = SpaceMemory()
            let url = try URLRecord("http://h/start")
            memory.challenged(by: try Self.offer(domain), at: url)
            #expect(memory.space(for: url) == nil)
            memory.convinced(Self.space(.httpDigest), at: url, isPreemptive: false)
            #expect(memory.space(for: try url.resolve(inside)) == Self.space(.httpDigest))
            if let outside { #expect(memory.space(for: try url.resolve(outside)) == nil) }
            #expect(memory.space(for: try URLRecord("http://evil/")) == nil)
        }
    }

    // Proves: AUT-23.
    @Test func `answers count up, and a new nonce is used at once`() throws {
        var memory = SpaceMemory()
        let url = try URLRecord("http://h/")
        let (space, credential) = (Self.space(.httpDigest), Credential(user: "u", password: "p"))
        func answer() -> String {
            let answer = memory.answer(
                for: space, at: url, by: credential, to: .init(method: "GET", uri: "/"), clientNonce: [0x41])
            return String(decoding: answer ?? [], as: UTF8.self)
        }
        #expect(answer().isEmpty)
        memory.challenged(by: try Self.offer("x=y"), at: url)
        #expect(answer().contains("nonce=\"n\", nc=00000001"))
        #expect(answer().contains("nonce=\"n\", nc=00000002"))
        memory.renew(space, at: url, nonce: Array("m".utf8))
        #expect(answer().contains("nonce=\"m\", nc=00000001"))
        memory.forget()
        #expect(answer().isEmpty)
    }

    @Test func `of one server it holds sixteen spaces, and the oldest goes`() throws {
        var memory = SpaceMemory()
        let other = try URLRecord("http://other/a/")
        memory.convinced(Self.space(.httpBasic), at: other, isPreemptive: true)
        for number in 0..<17 {
            let url = try URLRecord("http://h/\(number)/")
            memory.convinced(Self.space(.httpBasic, "\(number)"), at: url, isPreemptive: true)
        }
        let left = try (0..<17).map { memory.space(for: try URLRecord("http://h/\($0)/x"))?.realm }
        #expect(left == [nil] + (1..<17).map { "\($0)" })
        #expect(memory.space(for: other) != nil)
    }

    @Test func `what it holds is bounded`() throws {
        var memory = SpaceMemory()
        for number in 0..<5000 {
            memory.convinced(Self.space(.httpBasic), at: try URLRecord("http://h\(number)/"), isPreemptive: true)
            memory.convinced(Self.space(.httpBasic), at: try URLRecord("http://h/\(number)/"), isPreemptive: true)
        }
        #expect(memory.space(for: try URLRecord("http://h0/")) == nil)
        #expect(memory.space(for: try URLRecord("http://h/1/")) == nil)
        #expect(memory.space(for: try URLRecord("http://h/4999/")) != nil)
    }
}
