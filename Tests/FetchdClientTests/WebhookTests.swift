import FetchdClient
import Foundation
import HTTPTypes
import Testing

/// Messages of webhooks; the vector is that of the Standard Webhooks' own libraries.
@Suite struct WebhookTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let sent = Date(timeIntervalSince1970: 1_614_265_330)
    private static let body = Array(#"{"test": 2432232314}"#.utf8)
    private static let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

    private func headers(_ signature: String) throws -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in [
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"), ("webhook-timestamp", "1614265330"),
            ("Webhook-Signature", signature),
        ] { fields[try #require(HTTPField.Name(name))] = value }
        return fields
    }

    private func code(
        _ signature: String = signature, secrets: [String] = [secret], body: [UInt8] = body, now: Date = sent
    ) throws -> FetchdError.Code? {
        let headers = try headers(signature)
        do throws(FetchdError) {
            _ = try verifyWebhook(secrets: secrets, headers: headers, body: body, now: now)
            return nil
        } catch { return error.code }
    }

    // The vector is signed, and no message of Fetchd: it has neither type nor data.
    @Test func `a signature is that of the secret, or of one of them`() throws {
        #expect(try code() == .answerInvalid)
        #expect(try code("v1,AAAA v1a,x " + Self.signature, secrets: ["whsec_AAAA", Self.secret]) == .answerInvalid)
        #expect(try code(now: Self.sent + 299) == .answerInvalid)
    }

    @Test func `anything else is refused`() throws {
        #expect(try code(body: Array(#"{"test": 2432232315}"#.utf8)) == .signatureInvalid)
        #expect(try code("v1,AAAA") == .signatureInvalid)
        #expect(try code(secrets: ["whsec_AAAA", "no base64", ""]) == .signatureInvalid)
        #expect(try code(now: Self.sent + 301) == .signatureInvalid)
        #expect(try code(now: Self.sent - 301) == .signatureInvalid)
    }
}
