import FetchJobs
import Foundation
import Testing

/// R48, with the example of the Standard Webhooks specification.
@Suite struct WebhookSignatureTests {
    private struct Example {
        let secret: WebhookSecret
        let signature: WebhookSignature
        let timestamp: Int64
        let body: [UInt8]
        let expected: String
    }

    private func example() throws -> Example {
        let file = Bundle.module.url(forResource: "vectors", withExtension: "json", subdirectory: "standard-webhooks")
        let url = try #require(file)
        let json = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any])
        let vector = try #require((json["sign"] as? [[String: Any]])?.first)
        let timestamp = try #require(vector["webhook-timestamp"] as? Int)
        return Example(
            secret: try #require((vector["secret"] as? String).flatMap { WebhookSecret($0) }),
            signature: WebhookSignature(id: try #require(vector["webhook-id"] as? String), timestamp: Int64(timestamp)),
            timestamp: Int64(timestamp),
            body: Array((vector["body"] as? String ?? "").utf8),
            expected: try #require(vector["webhook-signature"] as? String)
        )
    }

    // Proves: SEC-36.
    @Test func `the published example has the published signature`() throws {
        let example = try example()
        #expect(example.signature.sign(example.body, with: example.secret) == example.expected)
    }

    // Proves: SEC-36.
    @Test func `a right signature among others is enough`() throws {
        let example = try example()
        let several = "v1,AAAA v2,\(example.expected.dropFirst(3)) \(example.expected)"
        #expect(
            example.signature.verify(several, of: example.body, with: example.secret, now: example.timestamp)
        )
    }

    @Test(arguments: [-301, 301])
    func `a message outside the tolerance is refused`(offset: Int64) throws {
        let example = try example()
        let now = example.timestamp + offset
        #expect(!example.signature.verify(example.expected, of: example.body, with: example.secret, now: now))
    }

    @Test func `an old message with a right signature is told from one without`() throws {
        let example = try example()
        let verdict = { (signatures: String, now: Int64) in
            example.signature.verdict(on: signatures, of: example.body, with: example.secret, now: now)
        }
        #expect(verdict(example.expected, example.timestamp) == .valid)
        #expect(verdict(example.expected, example.timestamp + 301) == .stale)
        #expect(verdict("v1,AAAA", example.timestamp + 301) == .notSigned)
        #expect(verdict("", example.timestamp) == .notSigned)
    }

    // Proves: SEC-36.
    @Test func `any changed byte of the body is noticed`() throws {
        let example = try example()
        for index in example.body.indices {
            var body = example.body
            body[index] ^= 1
            #expect(
                !example.signature.verify(example.expected, of: body, with: example.secret, now: example.timestamp)
            )
        }
    }

    @Test func `another version's prefix does not count`() throws {
        let example = try example()
        let other = "v1a" + example.expected.dropFirst(2)
        #expect(!example.signature.verify(other, of: example.body, with: example.secret, now: example.timestamp))
    }

    @Test(arguments: ["whsec_", "whsec_%%%", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])
    func `a secret in another form is no secret`(text: String) {
        #expect(WebhookSecret(text) == nil)
    }

    // Proves: SEC-52.
    @Test func `a secret shows itself only when asked to`() {
        let secret = WebhookSecret()
        #expect("\(secret) \(String(reflecting: secret))" == "<redacted> <redacted>")
        #expect(WebhookSecret(secret.revealed) == secret)
    }
}

@Suite struct DeliveryVerdictTests {
    /// At least 8 retries over at least 72 hours.
    // Proves: SEC-36.
    @Test func `the schedule is long enough`() {
        #expect(DeliveryVerdict.schedule.count >= 8)
        #expect(DeliveryVerdict.schedule.reduce(.zero, +) >= .seconds(72 * 3600))
    }

    @Test(arguments: [200, 204, 299])
    func `an answer of success delivers`(status: Int) {
        #expect(DeliveryVerdict(status: status, failures: 3, jitter: 0) == .delivered)
    }

    /// Redirects are not followed.
    // Proves: SEC-35.
    @Test(arguments: [302, 404, 500, nil])
    func `any other answer, or none, is tried again on schedule`(status: Int?) {
        #expect(DeliveryVerdict(status: status, failures: 0, jitter: 0) == .again(after: .seconds(5)))
        #expect(DeliveryVerdict(status: status, failures: 1, jitter: 1) == .again(after: .seconds(330)))
        #expect(DeliveryVerdict(status: status, failures: 9, jitter: 0) == .abandoned)
    }

    @Test func `a receiver that is gone gets no more`() {
        #expect(DeliveryVerdict(status: 410, failures: 0, jitter: 0) == .abandoned)
    }
}
