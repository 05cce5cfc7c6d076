import FetchJobs
import Foundation
import Testing

@testable import FetchAPI

/// What a browser keeps of a sign-in that it has begun.
@Suite struct SignInAttemptTests {
    private static let now: Int64 = 2_000_000_000

    @Test func `it comes back as it was, on every node and for ten minutes`() throws {
        let secret = SessionSecret()
        let attempt = SignInAttempt(leadingTo: "/dashboard/jobs?state=failed", now: Self.now)
        let text = try attempt.text(secret)
        #expect(SignInAttempt(text, secret: secret, now: Self.now + 599) == attempt)
        #expect(SignInAttempt(text, secret: secret, now: Self.now + 600) == nil)
        #expect(SignInAttempt(text, secret: SessionSecret(), now: Self.now) == nil)
    }

    @Test func `nothing of it can be read or changed in the browser`() throws {
        let secret = SessionSecret()
        let attempt = SignInAttempt(leadingTo: "/dashboard", now: Self.now)
        let text = try attempt.text(secret)
        let bytes = try #require(SignedToken.bytes(Array(text.utf8)[...]))
        for hidden in [attempt.state, attempt.nonce, attempt.verifier, "dashboard"] {
            #expect(!String(decoding: bytes, as: UTF8.self).contains(hidden))
        }
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            #expect(SignInAttempt(OpaqueText.write(changed), secret: secret, now: Self.now) == nil)
        }
        for other in ["", "x", "====", String(text.dropLast()), text + "A", String(repeating: "A", count: 5000)] {
            #expect(SignInAttempt(other, secret: secret, now: Self.now) == nil)
        }
        // The cookie of a session is none of an attempt.
        let cookie = SessionCookie(of: SignIn.ID(), now: Self.now).text(secret)
        #expect(SignInAttempt(cookie, secret: secret, now: Self.now) == nil)
    }

    @Test func `each has random words of its own, and a challenge that is the digest of its verifier`() {
        let attempts = (0..<50).map { _ in SignInAttempt(leadingTo: "/dashboard", now: Self.now) }
        let words = attempts.flatMap { [$0.state, $0.nonce, $0.verifier] }
        #expect(Set(words).count == 150 && words.allSatisfy { $0.utf8.count == 43 })
        #expect(
            attempts.allSatisfy {
                $0.isAnswered(by: $0.state) && !$0.isAnswered(by: $0.nonce) && !$0.isAnswered(by: "")
            })
        #expect(attempts[0].challenge.utf8.count == 43 && attempts[0].challenge != attempts[0].verifier)
    }
}
