import Synchronization

/// The handlers that all sessions of a program ask, after their own (``SessionConfiguration/protocolHandlers``) and
/// before the built-in ones.
///
/// The handler registered last is asked first, and the first that can handle a request gets it: http and https too,
/// except in background sessions, which ask no handler.
public final class ProtocolRegistry: Sendable {
    /// The registry of sessions that are given no other.
    public static let shared = ProtocolRegistry()

    private let registered = Mutex<[any ProtocolHandler]>([])

    /// Makes an empty registry.
    public init() {}

    /// Adds a handler, which is asked before those there are.
    public func register(_ handler: some ProtocolHandler) { registered.withLock { $0.append(handler) } }

    /// Removes every handler of a type; loads under way go on.
    public func unregister<Handler: ProtocolHandler>(_ type: Handler.Type) {
        registered.withLock { $0.removeAll { $0 is Handler } }
    }

    /// The handlers in the order in which they are asked.
    public var handlers: [any ProtocolHandler] { registered.withLock { $0.reversed() } }

    /// The first handler that takes the request.
    ///
    /// Handlers are asked outside the lock, so that they may register others.
    func handler(for request: Request) -> (any ProtocolHandler)? { handlers.first { $0.canHandle(request) } }
}
