package import FetchEngine

/// A target for a tenant's events: its URL, its events, and the secret that signs them; or events that a client reads.
package struct WebhookEndpoint: Sendable, MessageReceiver {
    package enum Kind: IdentifierKind {
        package static let prefix = "whe"
    }

    package typealias ID = Identifier<Kind>

    /// Why no messages are sent.
    package enum DisablingReason: String, Sendable, CaseIterable {
        /// For ``patience`` every attempt failed.
        case failing
        /// The receiver answered 410 Gone.
        case gone
        /// Its tenant said so.
        case requested
    }

    package struct Disabling: Sendable, Equatable {
        package let at: Timestamp
        package let reason: DisablingReason

        package init(at: Timestamp, reason: DisablingReason) {
            self.at = at
            self.reason = reason
        }
    }

    /// A secret that another one has followed, and that messages are signed with as well for a while.
    package struct PreviousSecret: Sendable, Equatable {
        package let secret: WebhookSecret
        package let until: Timestamp

        package init(secret: WebhookSecret, until: Timestamp) {
            self.secret = secret
            self.until = until
        }
    }

    /// How long an endpoint may take nothing before it is disabled (SEC-36).
    package static let patience = Duration.seconds(5 * 24 * 3600)
    /// How many a tenant may have: claims of deliveries look at each that something is on its way to.
    package static let maximumCount = 1000

    package let id: ID
    package let tenant: Tenant.ID
    /// Where messages are sent; nil when none are: the endpoint is polled.
    package var url: URLRecord?
    package var events: [WebhookEvent]
    /// Whether the jobs, groups and sessions of its tenant that name no endpoint have this one; one endpoint of a tenant
    /// at most is.
    package var isDefault = false
    package var secret: WebhookSecret
    /// The authorities that are trusted for the receiver; empty for those of the system.
    package var serverTrust = Configuration.ServerTrust()
    /// The certificate that the receiver is shown when it asks for one.
    package var clientIdentity: ClientIdentity?
    package let createdAt: Timestamp
    package var previousSecret: PreviousSecret?
    /// Since when every attempt has failed.
    package var failingSince: Timestamp?
    package var disabling: Disabling?
    /// The rotation of the last 24 hours that came with an idempotency key.
    package var rotation: String?
    /// Raised by every change.
    package var version: Int32 = 1

    package init(
        id: ID = ID(),
        tenant: Tenant.ID,
        url: URLRecord?,
        events: [WebhookEvent],
        secret: WebhookSecret = WebhookSecret(),
        createdAt: Timestamp = .now
    ) {
        self.id = id
        self.tenant = tenant
        self.url = url
        self.events = events
        self.secret = secret
        self.createdAt = createdAt
    }

    /// Its URL as lists show it: without the query, which may hold secrets; nil for none.
    package var shownURL: String? { url.map { String($0.description.prefix { $0 != "?" }) } }

    /// Refuses a certificate that would never be shown.
    package func check() throws(InvalidInput) {
        guard let url else {
            for (name, isThere) in [
                ("clientCertificate", clientIdentity != nil), ("serverTrust", serverTrust != .init()),
            ] where isThere {
                throw InvalidInput(pointer: "/\(name)", message: "is for endpoints with a url")
            }
            return
        }
        guard clientIdentity != nil, url.scheme != "https" else { return }
        throw InvalidInput(pointer: "/clientCertificate", message: "is for https URLs: others cannot ask for it")
    }

    /// Writes the endpoint without its secrets.
    package func write(_ writer: inout JSONWriter) {
        writer.member("id", id.description)
        writer.member("url", url?.description)
        writer.member("polled", url == nil)
        writer.member("events", array: { writer in events.forEach { writer.value($0.rawValue) } })
        writer.member("default", isDefault)
        if serverTrust != .init() { writer.member("serverTrust", object: serverTrust.write) }
        if let clientIdentity {
            writer.member(
                "clientCertificate", object: { $0.member("sha256", clientIdentity.fingerprint.description) })
        }
        writer.member("createdAt", createdAt.description)
        writer.member("enabled", disabling == nil)
        writer.member("disabledAt", disabling?.at.description)
        writer.member("disabledReason", disabling?.reason.rawValue)
        writer.member("failingSince", failingSince?.description)
        writer.member("previousSecretUntil", previousSecret?.until.description)
    }
}

/// Why a webhook of a tenant, or of the service, must not be sent to an address, or nil when it may.
package typealias WebhookURLCheck = @Sendable (URLRecord, Tenant.ID) async -> String?
