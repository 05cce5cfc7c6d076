public import HTTPTypes

/// One redirect that a task met: where it came from, what it said, where it led.
public struct Redirect: Sendable {
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
}
