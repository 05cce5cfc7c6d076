import FetchJobs
import HTTPTypes

/// The message to a webhook, and the fields that prove its origin.
struct WebhookMessage {
    let id: String
    let body: [UInt8]

    init(id: String, body: [UInt8]) {
        self.id = id
        self.body = body
    }

    init(_ delivery: WebhookDelivery, data: @escaping EventContents.Data) {
        id = delivery.id.description
        body = JSONWriter.object { delivery.writeMessage(&$0, data: data) }
    }

    /// - Parameters:
    ///   - secrets: Each makes a signature; a receiver needs one of them.
    ///   - trace: What the receiver may go on with; nil for none.
    func headers(
        signedWith secrets: [WebhookSecret], at timestamp: Int64, in trace: TraceContext? = nil
    ) -> HTTPFields {
        let signature = WebhookSignature(id: id, timestamp: timestamp)
        var fields = HTTPFields()
        fields[.contentType] = "application/json"
        fields[.userAgent] = "fetchd"
        fields[.webhookID] = id
        fields[.webhookTimestamp] = String(timestamp)
        fields[.webhookSignature] = secrets.map { signature.sign(body, with: $0) }.joined(separator: " ")
        trace?.write(to: &fields)
        return fields
    }
}

extension HTTPField.Name {
    fileprivate static let webhookID = Self("webhook-id") ?? .contentType
    fileprivate static let webhookTimestamp = Self("webhook-timestamp") ?? .contentType
    fileprivate static let webhookSignature = Self("webhook-signature") ?? .contentType
}
