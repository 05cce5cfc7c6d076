import FetchJobs
import Testing

@Suite struct APIKeyTokenTests {
    // Proves: SEC-40.
    @Test func `a token reads back from its text`() throws {
        let token = APIKeyToken(id: APIKey.ID())
        let read = try #require(APIKeyToken(token.revealed))
        #expect(read.id == token.id)
        #expect(read.secret == token.secret)
        #expect(token.secret.count == 32)
    }

    // Proves: SEC-40.
    @Test func `a wrong character anywhere is noticed`() {
        let text = Array(APIKeyToken(id: APIKey.ID()).revealed.utf8)
        for index in text.indices {
            var changed = text
            changed[index] = changed[index] == UInt8(ascii: "0") ? UInt8(ascii: "1") : UInt8(ascii: "0")
            #expect(APIKeyToken(String(decoding: changed, as: UTF8.self)) == nil)
        }
    }

    // Proves: SEC-40, SEC-52.
    @Test func `a token does not print itself`() {
        let token = APIKeyToken(id: APIKey.ID())
        #expect("\(token) \(String(reflecting: token))" == "<redacted> <redacted>")
    }
}
