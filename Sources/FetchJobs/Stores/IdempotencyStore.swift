/// The requests that were carried out under an Idempotency-Key, with their responses for repeats.
///
/// It is for requests that make nothing with which their key could be stored in one statement.
package protocol IdempotencyStore: Sendable {
    /// Takes the key for a request that is to be carried out, unless it is taken.
    func begin(_ idempotency: Idempotency, of tenant: Tenant.ID) async throws(StoreError) -> IdempotentRequest.Beginning

    /// Keeps the response of a request that was carried out, while the key is still its own.
    ///
    /// - Parameter response: Nil for one that is too long.
    func end(_ request: IdempotentRequest, with response: [UInt8]?) async throws(StoreError)

    /// Gives the key of a request back that came to nothing.
    func abandon(_ request: IdempotentRequest) async throws(StoreError)
}

/// A request that is carried out under an Idempotency-Key.
package struct IdempotentRequest: Sendable, Equatable {
    package enum Kind: IdentifierKind {
        package static let prefix = "req"
    }

    package typealias ID = Identifier<Kind>

    /// What is known of a key.
    package enum Beginning: Sendable, Equatable {
        /// Nothing: the request is to be carried out.
        case begun(IdempotentRequest)
        /// The same request has begun before, and has not ended.
        case running
        /// The same request was carried out before, with this response.
        case ended([UInt8])
        /// The same, with a response too long to be kept.
        case endedAtLength
        /// The key was used for another request.
        case conflict
    }

    /// How long a request may take; then a repeat of it is carried out, since its node may have died.
    package static let patience = Duration.seconds(300)

    package let id: ID
    package let tenant: Tenant.ID
    package let key: String

    package init(id: ID = ID(), tenant: Tenant.ID, key: String) {
        self.id = id
        self.tenant = tenant
        self.key = key
    }
}
