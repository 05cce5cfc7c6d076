/// The handlers of a configuration: two lists are equal when one is a copy of the other, for handlers themselves cannot
/// be compared.
final class HandlerList: Sendable, Hashable {
    let handlers: [any ProtocolHandler]

    init(_ handlers: [any ProtocolHandler]) { self.handlers = handlers }

    static func == (left: HandlerList, right: HandlerList) -> Bool { left === right }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension SessionConfiguration {
    /// The handlers that the session asks before all others, the first one first; none by default.
    ///
    /// Background sessions ask no handler.
    public var protocolHandlers: [any ProtocolHandler] {
        get { handlerList?.handlers ?? [] }
        set { handlerList = newValue.isEmpty ? nil : HandlerList(newValue) }
    }

}

extension SharedConfiguration {
    /// The handler of the request; nil for the transport, which has http and https.
    ///
    /// The session's own handlers are asked first, then those of ``ProtocolRegistry/shared``, then the built-in ones.
    func handler(for request: Request) -> (any ProtocolHandler)? {
        guard value.kind != .background else { return nil }
        if let own = value.handlerList?.handlers.first(where: { $0.canHandle(request) }) { return own }
        if let handler = ProtocolRegistry.shared.handler(for: request) { return handler }
        guard !request.url.isHTTP else { return nil }
        let mount = value.fileMount.flatMap { FileRoot(mounting: $0) }.map { [$0] } ?? []
        let files = FileHandler(roots: value.fileRoots.compactMap { FileRoot($0) } + mount)
        return [DataHandler(), files].first { $0.canHandle(request) }
    }
}
