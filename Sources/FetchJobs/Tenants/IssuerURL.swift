import FetchEngine

/// A URL of an issuer of tokens: one that an attacker on the way to it cannot answer for.
package struct IssuerURL: Sendable, Equatable, CustomStringConvertible {
    /// In the form that the URL Standard gives it: ASCII, without a character that ends a line.
    package let description: String

    /// The URL that a text is; nil when it is neither https nor http to this machine, or has credentials or a fragment.
    package init?(_ text: String) {
        // In its own form too, where an octet may be three letters.
        guard text.utf8.count <= 2048, let url = try? URLRecord(text), url.description.utf8.count <= 2048,
            !url.hasCredentials, url.fragment == nil,
            url.scheme == "https" || url.scheme == "http" && ["127.0.0.1", "[::1]"].contains(url.host)
        else { return nil }
        description = url.description
    }
}
