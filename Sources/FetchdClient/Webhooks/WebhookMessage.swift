public import Foundation
public import HTTPTypes

/// A message that is from the service.
public struct WebhookMessage: Sendable {
    /// The same each time that the message is sent: drop what you have seen.
    public let id: String
    /// The event, such as `job.finished`.
    public let type: String
    /// When it was made.
    public let timestamp: Date
    /// What happened, as the API writes it.
    public let data: JSONValue
}

/// The message in a request to the endpoint of a webhook (Standard Webhooks).
///
/// ```swift
/// let message = try verifyWebhook(secrets: [secret], headers: request.headerFields, body: json)
/// guard message.type == "job.finished" else { return }
/// ```
///
/// - Parameters:
///   - secrets: That of the endpoint, `whsec_…`; several while it is rotated.
///   - headers: The fields of the request.
///   - body: Its bytes as they came.
///   - tolerance: How long before or after `now` it may have been sent.
///   - now: The time of the clock.
/// - Throws: `signatureInvalid` unless it is from the service, and new.
public func verifyWebhook(
    secrets: [String], headers: HTTPFields, body: [UInt8], tolerance: Duration = .seconds(300), now: Date = .now
) throws(FetchdError) -> WebhookMessage {
    func field(_ name: String) throws(FetchdError) -> String {
        guard let name = HTTPField.Name("webhook-\(name)"), let value = headers[name] else {
            throw FetchdError(.signatureInvalid, "The field webhook-\(name) is missing.")
        }
        return value
    }
    let (id, sent, signatures) = (try field("id"), try field("timestamp"), try field("signature"))
    let signed = Array("\(id).\(sent).".utf8) + body
    let given = signatures.split(separator: " ").compactMap { Data(base64Encoded: String($0.trimmingPrefix("v1,"))) }
    var isSigned = false
    for secret in secrets {
        guard let key = Data(base64Encoded: String(secret.trimmingPrefix("whsec_"))), !key.isEmpty else { continue }
        let expected = messageAuthenticationCode(of: signed, key: Array(key))
        // Every one is compared as a whole, so that the time tells nothing.
        for code in given where isEqual(Array(code), expected) { isSigned = true }
    }
    guard isSigned else { throw FetchdError(.signatureInvalid, "No signature is that of the secret.") }
    guard let seconds = Double(sent), abs(now.timeIntervalSince1970 - seconds) <= tolerance / .seconds(1) else {
        throw FetchdError(.signatureInvalid, "The message is too old, or from the future.")
    }
    return try message(id, body)
}

private func message(_ id: String, _ body: [UInt8]) throws(FetchdError) -> WebhookMessage {
    struct Document: Decodable {
        let type: String
        let timestamp: Date
        let data: JSONValue
    }
    let document: Document = try decoded(body)
    return WebhookMessage(id: id, type: document.type, timestamp: document.timestamp, data: document.data)
}
