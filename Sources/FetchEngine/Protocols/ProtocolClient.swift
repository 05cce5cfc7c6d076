/// The client of a ``ProtocolHandler``, to which it reports a load: the engine, or a substitute in a test.
///
/// Every method throws `cancelled` once the load is over.
public protocol ProtocolClient: Sendable {
    /// The answer that the cache has for the request, for the handler to confirm or to ignore; nil when it has none.
    var cachedResponse: CachedResponse? { get }

    /// The protocol leads to another request.
    ///
    /// It is treated as a server's redirect: the delegate is asked, the limit counts. When it is not followed,
    /// `response` is the result of the load, and the data received next are its body.
    func received(_ response: Response, redirectingTo request: Request) async throws(LoadError)

    /// The cached response is the answer; there is nothing more to receive.
    func cachedResponseIsValid() async throws(LoadError)

    /// The response has come; a load has one.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - storagePolicy: Where the protocol allows the answer to be kept.
    func received(_ response: Response, storagePolicy: CachedResponse.StoragePolicy) async throws(LoadError)

    /// The next bytes of the body.
    ///
    /// Returns when the load has room for more, so a slow reader slows the handler down.
    func received(_ data: [UInt8]) async throws(LoadError)

    /// Authentication is needed: asks the delegates of this load, as for the challenge of a server.
    ///
    /// Comes before the response; as often as the protocol needs it.
    /// The handler must obey the answer. A challenge answered with `cancelAuthenticationChallenge` throws
    /// `userCancelledAuthentication`.
    func received(_ challenge: Challenge) async throws(LoadError) -> Challenge.Disposition
}
