import FetchEngine

/// A URL, or the beginning of URLs, that jobs are looked for by.
package struct URLFilter: Sendable, Equatable {
    /// In the standard form, as jobs are stored with it.
    package let text: String
    /// Host and port: jobs are found through it.
    package let host: String
    /// It says no more than the scheme and the host.
    package let isHostAlone: Bool

    /// - Parameter text: Names its host whole: no part of a name is looked for.
    package init?(_ text: String) {
        guard let url = try? URLRecord(text) else { return nil }
        self.init(url)
    }

    /// - Parameter text: A URL from elsewhere: its fragment says nothing of what was fetched.
    package init?(pasted text: String) {
        guard let url = try? URLRecord(text) else { return nil }
        self.init(url.withoutFragment())
    }

    private init?(_ url: URLRecord) {
        guard let host = url.hostAndPort, !host.isEmpty else { return nil }
        text = url.withoutCredentials().description
        self.host = host
        isHostAlone = ["", "/"].contains(url.path) && url.query == nil && url.fragment == nil
    }

    package static let rule = "must be a URL with its whole host, such as https://example.org/a"
    package static let maximumLength = 8192
}
