import HTTPTypes

extension HTTPField.Name {
    static let requestID = named("Request-Id")
    static let prefer = named("Prefer")
    static let idempotencyKey = named("Idempotency-Key")
    static let lastEventID = named("Last-Event-ID")
    static let reprDigest = named("Repr-Digest")

    private static func named(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is not a field name") }
        return name
    }
}
