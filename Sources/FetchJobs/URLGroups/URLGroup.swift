import FetchEngine

/// URLs of a tenant under a name: a message to the name goes to each of them.
package struct URLGroup: Sendable, Equatable {
    package struct Endpoint: Sendable, Equatable {
        package let url: String
        /// What the tenant calls it; nil for nothing.
        package let name: String?

        package init(url: String, name: String? = nil) { (self.url, self.name) = (url, name) }

        /// An endpoint of a client.
        package init?(_ object: JSONObjectReader) {
            guard let reader = object.required("url"), let text = reader.string(maximumLength: maximumURL),
                reader.httpURL() != nil
            else { return nil }
            self.init(url: text, name: Self.name(object))
        }

        /// The URL as jobs load it; nil for one that they may not have.
        var target: URLRecord? { JSONReader(.string(url), check: InputCheck()).httpURL() }

        /// What an endpoint is called; clients write null for nothing.
        package static func name(_ object: JSONObjectReader) -> String? {
            guard let reader = object["name"], reader.value != .null else { return nil }
            let name = reader.string(maximumLength: maximumName)
            return name?.isEmpty == true ? nil : name
        }
    }

    package static let maximumEndpoints = 100
    /// In all groups of a tenant.
    package static let maximumEndpointsOfTenant = 10_000
    /// In bytes.
    package static let maximumURL = 2048
    package static let maximumName = 128

    package let name: String
    package let createdAt: Timestamp
    /// When one of its endpoints was added or changed last.
    package let updatedAt: Timestamp
    /// In the order in which they were added; never empty.
    package let endpoints: [Endpoint]

    package init(name: String, createdAt: Timestamp, updatedAt: Timestamp, endpoints: [Endpoint]) {
        self.name = name
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.endpoints = endpoints
    }
}
