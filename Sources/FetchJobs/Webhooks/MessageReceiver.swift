/// Somebody whom signed messages are sent to.
package protocol MessageReceiver {
    /// What messages are signed with.
    var secret: WebhookSecret { get set }
    /// What they are signed with as well for a while.
    var previousSecret: WebhookEndpoint.PreviousSecret? { get set }
}

extension MessageReceiver {
    /// The secrets that a message sent at this time is signed with, the newest first.
    package func secrets(at time: Timestamp) -> [WebhookSecret] {
        guard let previousSecret, previousSecret.until > time else { return [secret] }
        return [secret, previousSecret.secret]
    }
}
