/// Who does something: the author of entries in the audit log.
///
/// A task knows its actor, so that a change is written with it in one statement, however deep in the code that is.
package struct AuditActor: Sendable, Hashable {
    package enum Kind: String, Sendable {
        /// A client with an API key, for its tenant.
        case key
        /// A client with a JSON Web Token, for its tenant.
        case token
        /// A client with an operator's API key, or token, on a route for operators.
        case `operator`
        /// A person at the dashboard.
        case dashboard
        /// A command on a machine of the service.
        case cli
        /// The service, by itself.
        case service
        /// A client that has shown no valid key.
        case anonymous
    }

    package let kind: Kind
    /// The id of its API key, or the issuer and the subject of its token; nil when it has neither.
    package var key: String?
    /// Tells its sign-in to the dashboard from others; nil for other kinds.
    package var signIn: String?
    /// The network that it comes from; nil when there is none.
    package var client: String?
    /// The `Request-Id` of its request; nil when there is none.
    package var request: String?

    package init(
        _ kind: Kind, key: String? = nil, signIn: String? = nil, client: String? = nil, request: String? = nil
    ) {
        self.kind = kind
        self.key = key
        self.signIn = signIn
        self.client = client
        self.request = request
    }

    package static let service = Self(.service)
    package static let cli = Self(.cli)

    /// The actor of what this task does; the service itself where no request, person or command began it.
    @TaskLocal package static var current = AuditActor.service
}
