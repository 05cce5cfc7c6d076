/// Loads some requests: by a protocol of the program's own, or in another way than a built-in protocol.
///
/// A handler is a value that serves any number of loads at once. The state of one load belongs in its call of
/// ``load(_:client:)``: the engine makes that call, and ends it early by cancelling its task. Clients of a session
/// never see a handler.
///
/// ```swift
/// struct GreetingHandler: ProtocolHandler {
///     func canHandle(_ request: Request) -> Bool { request.url.scheme == "greeting" }
///
///     func load(_ request: Request, client: any ProtocolClient) async throws(LoadError) {
///         let text = Array("Hello, \(request.url.path)!".utf8)
///         try await client.received(Response(url: request.url, status: .ok), storagePolicy: .notAllowed)
///         try await client.received(text)
///     }
/// }
/// ```
public protocol ProtocolHandler: Sendable {
    /// Whether it serves this request.
    ///
    /// Asked for every hop of every load, so it should look at the scheme and little more.
    func canHandle(_ request: Request) -> Bool

    /// The request in the standard form of the protocol; the request as it is by default.
    ///
    /// Requests for one resource should have one form.
    func canonicalRequest(for request: Request) -> Request

    /// Whether a cached answer to one request answers the other; by default when method and URL are equal, fragments
    /// apart.
    ///
    /// Both are in their standard form. The cache is searched under the method and the URL; this decides about the
    /// entries found there.
    func isEquivalent(_ first: Request, _ second: Request) -> Bool

    /// Loads the request: passes the response and then the data to the client, and returns when the load is complete.
    ///
    /// The load fails with the error that this throws, and with `badServerResponse` when this returns without a
    /// response. When the load ends early the task is cancelled and the client's methods throw `cancelled`.
    func load(_ request: Request, client: any ProtocolClient) async throws(LoadError)
}

extension ProtocolHandler {
    /// The request as it is.
    public func canonicalRequest(for request: Request) -> Request { request }

    /// Whether method and URL are equal, fragments apart.
    public func isEquivalent(_ first: Request, _ second: Request) -> Bool {
        first.method == second.method && first.url.withoutFragment() == second.url.withoutFragment()
    }
}
