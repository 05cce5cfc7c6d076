/// A receiver of signed messages.
package protocol MessageReceiver {
    /// The secret that signs messages.
    var secret: WebhookSecret { get set }
    /// The former secret, which signs them as well until its end; nil for none.
    var previousSecret: WebhookEndpoint.PreviousSecret? { get set }
}

extension MessageReceiver {
    /// The secrets that a message sent at this time is signed with, the newest first.
    package func secrets(at time: Timestamp) -> [WebhookSecret] {
        guard let previousSecret, previousSecret.until > time else { return [secret] }
        return [secret, previousSecret.secret]
    }
}
