package import FetchEngine

/// A protocol that an operator has registered: an HTTP server that loads certain URLs for certain tenants (PRT-1).
package struct RegisteredProtocol: Sendable, MessageReceiver {
    /// The name by which operators and sessions refer to it.
    package let name: String
    /// The scheme of the URLs that it loads, in lower case.
    package var scheme: String
    /// Their hosts; nil for any and none.
    package var host: HostPattern?
    /// Where its loads are sent.
    package var url: URLRecord
    /// Protocols of a lower number are asked before those of a higher one.
    package var order: Int64
    /// Those whose loads it takes; nil for all.
    package var tenants: [Tenant]?
    package var secret: WebhookSecret
    package var previousSecret: WebhookEndpoint.PreviousSecret?
    /// When the name was registered; a change of the protocol leaves it as it is.
    package var registeredAt: Timestamp

    package init(
        name: String, scheme: String, host: HostPattern? = nil, url: URLRecord, order: Int64 = 0,
        tenants: [Tenant]? = nil, secret: WebhookSecret = WebhookSecret(), registeredAt: Timestamp = .now
    ) {
        self.name = name
        self.scheme = scheme
        self.host = host
        self.url = url
        self.order = order
        self.tenants = tenants
        self.secret = secret
        self.registeredAt = registeredAt
    }

    /// How many there may be: each load asks them one by one.
    package static let maximumCount = 100

    /// Whether it loads for a tenant.
    package func serves(_ tenant: Tenant.ID) -> Bool { tenants?.contains { $0.id == tenant } ?? true }

    /// Whether it loads a URL.
    package func takes(_ url: URLRecord) -> Bool {
        guard url.scheme == scheme else { return false }
        // Only the hosts of http and its like are in lower case.
        return host?.matches(host: (url.host ?? "").lowercased(), port: url.effectivePort) ?? true
    }

    /// Whether it is asked before another: by the lower order, else the one that was registered last (PRT-2).
    package static func isAskedFirst(_ left: Self, _ right: Self) -> Bool {
        (left.order, right.registeredAt, left.name) < (right.order, left.registeredAt, right.name)
    }

    /// Writes the members that a tenant may see: neither its address nor its other tenants.
    package func writeForTenant(_ writer: inout JSONWriter) {
        writer.member("scheme", scheme)
        writer.member("host", host?.description)
        writer.member("name", name)
        writer.member("builtIn", false)
    }

    /// Writes the protocol as its operator sees it, without its secrets.
    package func write(_ writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("scheme", scheme)
        writer.member("host", host?.description)
        writer.member("url", url.description)
        writer.member("order", order)
        if let tenants {
            writer.member("tenants", array: { writer in tenants.forEach { writer.value($0.name) } })
        }
        writer.member("registeredAt", registeredAt.description)
        writer.member("previousSecretUntil", previousSecret?.until.description)
    }
}
