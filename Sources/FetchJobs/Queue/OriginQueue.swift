import FetchEngine

/// The jobs of one session for one origin that a node has: those that load, and those that are about to.
///
/// A node takes more of them than there are connections, so that none of these waits for the database: as many as the
/// origin answers within half a second, and no more.
package struct OriginQueue: Sendable {
    package struct Key: Sendable, Hashable {
        package let tenant: Tenant.ID
        let session: TenantSession.ID
        let origin: URLRecord.Origin
        /// With the port, where it is not the scheme's.
        package let host: String

        /// Nil for a job whose URL has no host.
        ///
        /// - Parameter tries: How many of its attempts have failed before.
        package init?(_ spec: JobSpec, of tenant: Tenant.ID, after tries: Int = 0) {
            let url = spec.request.url(after: tries)
            guard let host = url.hostAndPort else { return nil }
            self.tenant = tenant
            self.host = host
            session = spec.session ?? .default
            origin = url.origin
        }

        /// The origin is left out: it differs from the host in its scheme alone.
        package func hash(into hasher: inout Hasher) {
            hasher.combine(tenant)
            hasher.combine(session)
            hasher.combine(host)
        }

        /// The limiter that jobs of all sessions for the host share.
        package var limiter: Limiter.Address { Limiter.Address(tenant: tenant, kind: .host, key: host) }
    }

    /// How many jobs a node takes at first, before it is known how many are answered; where there are nearly as many
    /// connections or more, a quarter of it beyond these.
    package static let capacity = 512
    /// How long a node looks at an origin queue before it judges it.
    package static let window = Duration.milliseconds(500)
    /// The number of jobs under way beyond the connections, for an origin that answers many requests a second.
    private static let ahead = 6
    /// HTTP/2 streams to one origin at a time, on any number of connections.
    private static let maximumStreams = 100

    /// How many connections jobs may have, on all nodes together.
    package var maximum = 6 {
        // Loads that take their time must not keep others from connections that are free.
        didSet { if count < room { isFull = false } }
    }
    package var isMultiplexing = false
    /// Whether the limit is kept for all nodes by the gate of the limiter.
    package var isCounted = false
    package private(set) var loading = 0
    /// All that the node has, those included that are being stored or claimed.
    package private(set) var count = 0
    /// Whether no more may be claimed for now.
    package private(set) var isFull = false
    private var ended = 0
    private var endedBefore = 0
    private var since: ContinuousClock.Instant

    package init(at now: ContinuousClock.Instant) { since = now }

    /// How many loads may be under way here.
    package func limit(ofNodes nodes: Int) -> Int {
        if isMultiplexing { return max(maximum, Self.maximumStreams) }
        if nodes > 1 { return isCounted ? maximum : max(1, maximum / nodes) }
        return max(ended, endedBefore) >= 50 ? maximum + Self.ahead : maximum
    }

    private var room: Int { max(Self.capacity, maximum + Self.capacity / 4) }

    package mutating func add() {
        count += 1
        if count >= room { isFull = true }
    }

    package mutating func remove() {
        count -= 1
        if count <= room - Self.capacity / 4 { isFull = false }
    }

    package mutating func begin() { loading += 1 }

    package mutating func end() {
        loading -= 1
        ended += 1
    }

    /// One that loads is held: another may.
    package mutating func yield() { loading -= 1 }

    /// How many ended within a window, the better of the last two; nil before one is over.
    package mutating func drain(at now: ContinuousClock.Instant) -> Int? {
        let time = since.duration(to: now)
        guard time >= Self.window * 0.9 else { return nil }
        let drained = Int(Double(ended) * (Self.window / time))
        defer { (endedBefore, ended, since) = (drained, 0, now) }
        return max(drained, endedBefore)
    }

    /// How many jobs should be under way on all nodes together while others wait at the gate.
    package func crowd(drained: Int, nodes: Int) -> Int {
        let base = isMultiplexing ? max(maximum, Self.maximumStreams) : maximum
        // With several nodes, none are added for their queues: no node knows how many jobs another has.
        return nodes > 1 ? base : base + drained
    }
}
