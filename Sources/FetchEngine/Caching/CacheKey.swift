import HTTPTypes

/// The key of stored responses: the method and the URL, with scheme, port and query and without credentials and
/// fragment.
public struct CacheKey: Sendable, Hashable {
    /// The method of the request that the answer was given to.
    public let method: String
    /// The URL in canonical form.
    public let url: String

    /// Makes a key.
    ///
    /// - Parameters:
    ///   - method: Case-sensitive. `HEAD` is looked up as `GET`, whose answer tells all that its own would.
    ///   - url: Its credentials and its fragment are left out.
    public init(method: String = "GET", url: URLRecord) {
        self.method = method == "HEAD" ? "GET" : method
        self.url = url.withoutCredentials().withoutFragment().description
    }

    /// The key that a request is looked up by.
    public init(_ request: Request) { self.init(method: request.method.rawValue, url: request.url) }

    init(method: String, text: String) {
        self.method = method
        url = text
    }
}
