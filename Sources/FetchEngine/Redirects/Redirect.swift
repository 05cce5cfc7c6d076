public import HTTPTypes

/// One redirect that a task met: its origin, its response and its target.
public struct Redirect: Sendable {
    /// The cause of a redirect.
    public enum Cause: String, Sendable {
        /// The response of a server.
        case response
        /// The session itself, to https, because the host is reached by that alone (RFC 6797 §8.3).
        case strictTransport
    }

    /// The URL that redirected.
    public let url: URLRecord
    /// The status of the redirect response.
    public let status: HTTPResponse.Status
    /// The `Location` field as the server wrote it.
    public let location: String
    /// The URL it was resolved to.
    public let target: URLRecord
    /// The method of the request made there.
    public let method: HTTPRequest.Method
    /// The cause of the redirect.
    public let cause: Cause

    package init(
        url: URLRecord, status: HTTPResponse.Status, location: String, target: URLRecord, method: HTTPRequest.Method,
        cause: Cause = .response
    ) {
        self.url = url.withoutCredentials()
        self.status = status
        self.location = location
        self.target = target
        self.method = method
        self.cause = cause
    }

    /// A redirect that takes a request to https before it is sent, as a 307 would.
    init(securing request: Request, to target: URLRecord) {
        url = request.url.withoutCredentials()
        status = .temporaryRedirect
        self.target = target.withoutCredentials()
        location = self.target.description
        method = request.method
        cause = .strictTransport
    }
}
