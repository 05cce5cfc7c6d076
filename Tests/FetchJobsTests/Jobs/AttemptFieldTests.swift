import Crypto
import FetchJobs
import Foundation
import Testing

/// Header fields that are made for each attempt.
@Suite struct AttemptFieldTests {
    private func spec(_ members: String) throws -> JobSpec {
        try JobSpec(json: JSONParser.parse(#"{"request": {"url": "https://a.example/", \#(members)}}"#.utf8))
    }

    @Test func `a job keeps them as it was submitted`() throws {
        let fields =
            #"[{"name":"X-Job","content":"job"},{"name":"X-Signature","content":"signature","issuer":"shop"}]"#
        let stored = try spec(#""attemptHeaders": \#(fields)"#).json
        #expect(String(decoding: stored, as: UTF8.self).contains(#""attemptHeaders":\#(fields)"#))
        let again = try JobSpec(stored: JSONParser.parse(stored))
        #expect(again.request.attemptHeaders.map(\.content) == [.job, .signature])
        #expect(again.request.attemptHeaders.map(\.issuer) == ["fetchd", "shop"])
    }

    @Test(arguments: [
        (#""attemptHeaders": [{"name": "X"}]"#, "/request/attemptHeaders/0/content"),
        (#""attemptHeaders": [{"name": "X", "content": "time"}]"#, "/request/attemptHeaders/0/content"),
        (#""attemptHeaders": [{"name": "a b", "content": "job"}]"#, "/request/attemptHeaders/0/name"),
        (#""attemptHeaders": [{"name": "Host", "content": "job"}]"#, "/request/attemptHeaders/0/name"),
        (#""attemptHeaders": [{"name": "Proxy-X", "content": "job"}]"#, "/request/attemptHeaders/0/name"),
        (#""attemptHeaders": [{"name": "X", "content": "job", "issuer": "a"}]"#, "/request/attemptHeaders/0/issuer"),
        (
            #""method": "POST", "body": {"stream": true}, "attemptHeaders": [{"name": "X", "content": "signature"}]"#,
            "/request/attemptHeaders"
        ),
    ])
    func `what is none is refused by its member`(_ members: String, _ pointer: String) throws {
        let error = #expect(throws: InvalidInput.self) { try spec(members) }
        #expect(error?.violations.map(\.pointer) == [pointer])
    }

    @Test func `a signature says whence, where to, when and what, and is made with the text of the key`() throws {
        let signature = RequestSignature(issuer: "shop", url: "https://a.example/?b=1", body: Array("body".utf8))
        let token = signature.token(
            signedWith: "sig_key", at: Timestamp(microseconds: 1_700_000_000_500_000), id: "one")
        let parts = token.split(separator: ".")
        try #require(parts.count == 3)
        let code = HMAC<SHA256>.authenticationCode(
            for: Data("\(parts[0]).\(parts[1])".utf8), using: SymmetricKey(data: Data("sig_key".utf8)))
        #expect(Data(code).base64EncodedString().filter { $0 != "=" } == plain(parts[2]))
        let claims = try JSONParser.parse(try #require(Data(base64Encoded: padded(plain(parts[1])))))
        #expect(claims.member("iss")?.text == "shop" && claims.member("sub")?.text == "https://a.example/?b=1")
        #expect(claims.member("nbf")?.integer == 1_700_000_000 && claims.member("exp")?.integer == 1_700_000_300)
        #expect(claims.member("iat")?.integer == 1_700_000_000 && claims.member("jti")?.text == "one")
        let hash = Data(SHA256.hash(data: Data("body".utf8))).base64EncodedString().filter { $0 != "=" }
        #expect(claims.member("body")?.text.map { plain($0[...]) } == hash)
    }

    private func plain(_ text: Substring) -> String {
        String(text).replacing("-", with: "+").replacing("_", with: "/")
    }

    private func padded(_ text: String) -> String { text + String(repeating: "=", count: (4 - text.count % 4) % 4) }
}
