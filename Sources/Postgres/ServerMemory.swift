import EventLoop
import Synchronization

/// What is known of servers, for all connections that are made by one configuration.
final class ServerMemory: Sendable {
    private struct State {
        var silentSince: [ServerPlace: MonotonicTime] = [:]
        var asked: Set<ServerPlace> = []
        var connections: [ServerPlace: [ObjectIdentifier: @Sendable () -> Void]] = [:]
    }

    /// How long a silent server is asked behind the others.
    private static let memory = Duration.seconds(30)

    private let state = Mutex(State())

    /// Whether a server did not answer when it was asked last.
    func isSilent(_ place: ServerPlace?) -> Bool {
        guard let place, let since = state.withLock({ $0.silentSince[place] }) else { return false }
        return .now < since.advanced(by: Self.memory)
    }

    func noteSilence(of place: ServerPlace?) { if let place { state.withLock { $0.silentSince[place] = .now } } }

    func noteAnswer(of place: ServerPlace?) { if let place { state.withLock { $0.silentSince[place] = nil } } }

    // MARK: Connections

    /// A connection is open.
    ///
    /// - Parameter drop: Ends it, on any thread.
    func add(_ connection: ObjectIdentifier, at place: ServerPlace, drop: @escaping @Sendable () -> Void) {
        state.withLock { $0.connections[place, default: [:]][connection] = drop }
    }

    func remove(_ connection: ObjectIdentifier, at place: ServerPlace) {
        state.withLock { $0.connections[place]?[connection] = nil }
    }

    /// A server answers nothing any more: all connections to it end.
    func drop(_ place: ServerPlace) {
        noteSilence(of: place)
        for drop in state.withLock({ Array(($0.connections[place] ?? [:]).values) }) { drop() }
    }

    /// Whether a server is to be asked whether it lives; false while somebody asks.
    func beginAsking(_ place: ServerPlace) -> Bool { state.withLock { $0.asked.insert(place).inserted } }

    func endAsking(_ place: ServerPlace) { state.withLock { _ = $0.asked.remove(place) } }
}
