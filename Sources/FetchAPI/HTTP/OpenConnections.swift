import FetchJobs
import NIOCore
import Synchronization

/// The connections to this server, and how many each client may have.
///
/// A new connection is always accepted. When there is no place, the connections that have been idle for longest are
/// closed. When none is idle, the new one is of a small reserve, which answers requests for the server's health only.
final class OpenConnections: Sendable {
    struct Limits: Sendable {
        var total = 10_000
        /// Those from one network, unless it is a proxy's.
        var perPeer: Int?
        /// Calls of one tenant that are being answered.
        var callsPerTenant: Int?
        /// Those beyond the total, which only tell of the server's health.
        var reserve: Int { max(4, min(64, total / 8)) }
    }

    private struct State {
        /// With the limits that hold for them.
        var regular: [ClientNetwork?: Set<Connection>] = [:]
        var count = 0
        /// The connections that only ask for health.
        var reserved: Set<Connection> = []
        var calls: [Tenant.ID: Int] = [:]
    }

    let limits: Limits
    private let proxies: TrustedProxies
    private let state = Mutex(State())
    private let isStopping = Atomic(false)

    init(limits: Limits = Limits(), proxies: TrustedProxies = TrustedProxies()) {
        self.limits = limits
        self.proxies = proxies
    }

    private var perPeer: Int { max(1, limits.perPeer ?? limits.total / 2) }

    var callsPerTenant: Int { max(1, limits.callsPerTenant ?? limits.total / 2) }

    /// How many there are.
    var count: Int { state.withLock { $0.count + $0.reserved.count } }

    /// Whether the server stops: each connection ends with its next answer.
    var areLeaving: Bool { isStopping.load(ordering: .relaxed) }

    /// Has clients leave with their next answers.
    func leave() { isStopping.store(true, ordering: .relaxed) }

    // MARK: Connections

    /// Takes in a new connection; nil when it must be closed.
    ///
    /// - Returns: Whether all requests are allowed on it, and not only those for the server's health.
    func open(_ channel: any Channel) -> (connection: Connection, isRegular: Bool)? {
        let address = channel.remoteAddress?.ipAddress
        let isProxy = address.map { proxies.contains($0) } ?? true
        let connection = Connection(channel: channel, peer: isProxy ? nil : address.flatMap { ClientNetwork(of: $0) })
        let (isRegular, closed) = state.withLock { state -> (Bool?, [Connection]) in
            let closed = makeRoom(for: connection, &state)
            guard !hasRoom(for: connection, state) else {
                insert(connection, &state)
                return (true, closed)
            }
            let replaced = state.reserved.count >= limits.reserve ? Self.longestIdle(of: state.reserved, 1) : []
            state.reserved.subtract(replaced)
            guard state.reserved.count < limits.reserve else { return (nil, closed + replaced) }
            state.reserved.insert(connection)
            return (false, closed + replaced)
        }
        closed.forEach(close)
        return isRegular.map { (connection, $0) }
    }

    /// Allows all requests on a connection of the reserve when there is a place for it now; false when there is none.
    func makeRegular(_ connection: Connection) -> Bool {
        state.withLock { state in
            guard hasRoom(for: connection, state), state.reserved.contains(connection) else { return false }
            state.reserved.remove(connection)
            insert(connection, &state)
            return true
        }
    }

    /// A connection is over.
    func remove(_ connection: Connection) {
        connection.leave()
        let tenant = connection.end()
        state.withLock { state in
            remove(connection, &state)
            if let tenant { state.calls.decrement(tenant) }
        }
    }

    /// Closes all connections, whatever is on them.
    func closeAll() {
        let all = state.withLock { Array($0.regular.values.joined()) + $0.reserved }
        for connection in all { connection.channel.close(promise: nil) }
    }

    private func hasRoom(for connection: Connection, _ state: State) -> Bool {
        let isCrowded = connection.peer != nil && state.regular[connection.peer]?.count ?? 0 >= perPeer
        return state.count < limits.total && !isCrowded
    }

    private func insert(_ connection: Connection, _ state: inout State) {
        state.regular[connection.peer, default: []].insert(connection)
        state.count += 1
    }

    private func remove(_ connection: Connection, _ state: inout State) {
        state.reserved.remove(connection)
        guard state.regular[connection.peer]?.remove(connection) != nil else { return }
        state.count -= 1
        if state.regular[connection.peer]?.isEmpty == true { state.regular[connection.peer] = nil }
    }

    /// Gives up idle connections where one is in the way: of its own network first, else of all.
    private func makeRoom(for connection: Connection, _ state: inout State) -> [Connection] {
        guard !hasRoom(for: connection, state) else { return [] }
        var closed: [Connection] = []
        let own = state.regular[connection.peer] ?? []
        if connection.peer != nil, own.count >= perPeer {
            // Several at once, so that a client that opens one after the other does not cause a search each time.
            closed = Self.longestIdle(of: own, max(1, perPeer / 64))
        } else {
            closed = Self.longestIdle(of: state.regular.values.joined(), max(1, limits.total / 64))
        }
        for connection in closed { remove(connection, &state) }
        return closed
    }

    private static func longestIdle(of connections: some Sequence<Connection>, _ count: Int) -> [Connection] {
        let idle = connections.compactMap { connection in connection.idleSince.map { (connection, $0) } }
        return idle.sorted { $0.1 < $1.1 }.prefix(count).map(\.0)
    }

    /// Closes an idle connection; one that was asked something in between stays.
    private func close(_ connection: Connection) {
        connection.channel.eventLoop.execute {
            guard connection.idleSince == nil else { return connection.channel.close(promise: nil) }
            self.state.withLock { self.insert(connection, &$0) }
        }
    }

    // MARK: Calls

    /// A call turns out to be a tenant's.
    ///
    /// - Throws: ``Problem`` `tooManyCalls`.
    func begin(_ connection: Connection, for tenant: Tenant.ID) throws {
        let quota = callsPerTenant
        let isBegun = state.withLock { state in
            guard state.calls[tenant, default: 0] < quota else { return false }
            if connection.belongs(to: tenant) { state.calls[tenant, default: 0] += 1 }
            return true
        }
        guard isBegun else { throw Problem(.tooManyCalls).limited(by: "calls", quota: quota, retryingAfter: 1) }
    }

    /// A call was answered.
    func end(_ connection: Connection) {
        guard let tenant = connection.end() else { return }
        state.withLock { $0.calls.decrement(tenant) }
    }
}

extension [Tenant.ID: Int] {
    fileprivate mutating func decrement(_ tenant: Tenant.ID) {
        let left = self[tenant, default: 1] - 1
        self[tenant] = left > 0 ? left : nil
    }
}
