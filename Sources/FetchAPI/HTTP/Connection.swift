import FetchJobs
import NIOCore
import Synchronization

/// A client's connection, for the code that waits on its behalf and the code that counts it.
final class Connection: Sendable {
    /// The connection of the request being answered; nil where there is no network.
    @TaskLocal static var current: Connection?

    private struct State {
        var calls = 0
        var idleSince: NIODeadline
        var tenant: Tenant.ID?
        var hasLeft = false
        var waits: [Int: @Sendable () -> Void] = [:]
        var nextWait = 0
    }

    let channel: any Channel
    /// The network that it counts against; nil for a proxy, which has everybody behind it.
    let peer: ClientNetwork?
    private let state: Mutex<State>

    init(channel: any Channel, peer: ClientNetwork?) {
        self.channel = channel
        self.peer = peer
        state = Mutex(State(idleSince: channel.eventLoop.now))
    }

    // MARK: Calls

    /// A request has come.
    func begin() { state.withLock { $0.calls += 1 } }

    /// A request was answered.
    ///
    /// - Returns: The tenant of the request, when that was known.
    func end() -> Tenant.ID? {
        state.withLock { state in
            // A request that is refused before its end was never started.
            state.calls = max(0, state.calls - 1)
            if state.calls == 0 { state.idleSince = channel.eventLoop.now }
            defer { state.tenant = nil }
            return state.tenant
        }
    }

    /// Since when the connection is idle; nil while a request is on it.
    var idleSince: NIODeadline? { state.withLock { $0.calls == 0 ? $0.idleSince : nil } }

    /// Notes the tenant of the request; false when it is known already.
    func belongs(to tenant: Tenant.ID) -> Bool {
        state.withLock { state in
            defer { state.tenant = tenant }
            return state.tenant == nil
        }
    }

    // MARK: Leaving

    /// The client will send no more; ends the waits for it.
    func leave() {
        let waits = state.withLock { state in
            state.hasLeft = true
            defer { state.waits = [:] }
            return Array(state.waits.values)
        }
        for wake in waits { wake() }
    }

    var hasLeft: Bool { state.withLock { $0.hasLeft } }

    /// Has something done when the client leaves; at once when it has.
    ///
    /// - Returns: The number for ``forget(_:)``.
    func onLeave(_ wake: @escaping @Sendable () -> Void) -> Int {
        let (number, hasLeft) = state.withLock { state in
            state.nextWait += 1
            if !state.hasLeft { state.waits[state.nextWait] = wake }
            return (state.nextWait, state.hasLeft)
        }
        if hasLeft { wake() }
        return number
    }

    func forget(_ number: Int) { state.withLock { _ = $0.waits.removeValue(forKey: number) } }
}

extension Connection: Hashable {
    static func == (one: Connection, other: Connection) -> Bool { one === other }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
