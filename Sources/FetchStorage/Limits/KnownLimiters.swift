package import FetchJobs
package import Postgres
import Synchronization

/// The limiters and pauses as a node knows them, so that storing and claiming jobs need not ask.
///
/// It is read again when its version has been raised, which a node is told of at once and sees with its next heartbeat at
/// the latest. A job that was stored as if its limiter had no limits meanwhile is held back where it would be claimed.
package final class KnownLimiters: KnownLimits {
    fileprivate struct State {
        var version: Int64 = -1
        var isPaused = false
        var pausedTenants: Set<Tenant.ID> = []
        var limited: Set<Limiter.Address> = []
        /// Until when circuits of hosts are open, or were, whose origins have not answered well since.
        var openCircuits: [Limiter.Address: Timestamp] = [:]
        /// How many jobs of a host run at once while others wait.
        var crowds: [Limiter.Address: Int] = [:]
        /// Of tenants that have not the usual one.
        var weights: [Tenant.ID: Int] = [:]
        /// Hosts whose circuit is being written.
        var underWay: Set<Limiter.Address> = []
    }

    /// The bandwidths that jobs share.
    package let bandwidths = SharedBandwidths()

    private let client: Client
    private let state = Mutex(State())

    package init(client: Client) { self.client = client }

    /// No job may be started.
    var isPaused: Bool { state.withLock { $0.isPaused } }

    /// No job of these tenants may be started.
    var pausedTenants: Set<Tenant.ID> { state.withLock { $0.pausedTenants } }

    /// How many hosts are left alone at a time.
    package func openCircuitCount(at time: Timestamp) -> Int {
        state.withLock { $0.openCircuits.values.count { $0 > time } }
    }

    package func weight(of tenant: Tenant.ID) -> Int { state.withLock { $0.weights[tenant] ?? 1 } }

    package func crowd(of limiter: Limiter.Address) -> Int? {
        state.withLock { $0.crowds.isEmpty ? nil : $0.crowds[limiter] }
    }

    /// Some limiter has limits.
    var exist: Bool { state.withLock { !$0.limited.isEmpty || !$0.openCircuits.isEmpty } }

    /// The limiters with limits that a job is in: it passes the gate of its flow first.
    ///
    /// - Parameter tries: How many of its attempts have failed before.
    func limiters(of spec: JobSpec, tenant: Tenant.ID, after tries: Int = 0) -> [Limiter.Address] {
        state.withLock { state in
            guard !state.limited.isEmpty || !state.openCircuits.isEmpty else { return [] }
            return spec.limiters(of: tenant, after: tries).filter { limiter in
                state.limited.contains(limiter) || state.openCircuits[limiter] != nil
            }
        }
    }

    /// Writes the signal of a host's origin, unless that is no news.
    ///
    /// A signal that many responses give at once is written once.
    ///
    /// - Returns: Whether it was written.
    nonisolated(nonsending) func write(
        _ signal: Limiter.Signal, of host: Limiter.Address, askedAt time: Timestamp,
        _ write: nonisolated(nonsending) () async throws(StoreError) -> Void
    ) async throws(StoreError) -> Bool {
        let isNews = state.withLock { state in
            let isNews = state.isNews(signal, of: host, askedAt: time)
            return isNews && state.underWay.insert(host).inserted
        }
        guard isNews else { return false }
        defer { state.withLock { _ = $0.underWay.remove(host) } }
        try await write()
        return true
    }

    /// Whether a tenant's jobs are not to be started.
    func isPaused(_ tenant: Tenant.ID) -> Bool {
        state.withLock { $0.isPaused || $0.pausedTenants.contains(tenant) }
    }

    /// Whether a new job must not be started as it is stored: its tenant is paused, or a limiter has to let it through.
    func hold(_ job: NewJob) -> Bool { isPaused(job.tenant) || !limiters(of: job.spec, tenant: job.tenant).isEmpty }

    /// Reads the changes, if there are any.
    ///
    /// - Parameter version: The present version, when it is known.
    package func refresh(to version: Int64? = nil) async throws(StoreError) {
        let known = state.withLock { $0.version }
        guard version != known else { return }
        try await StoreError.wrap {
            let rows = try await client.query(
                """
                -- limiters.read
                SELECT s.version, s.paused, ARRAY(SELECT id FROM tenants WHERE paused), l.tenant_id, l.kind, l.key,
                    l.is_limited OR l.paused OR l.crowd IS NOT NULL, l.circuit_open_until, l.bytes_per_second, s.bytes_per_second,
                    ARRAY(SELECT id FROM tenants WHERE bytes_per_second IS NOT NULL ORDER BY id),
                    ARRAY(SELECT bytes_per_second FROM tenants WHERE bytes_per_second IS NOT NULL ORDER BY id),
                    l.crowd, ARRAY(SELECT id FROM tenants WHERE weight <> 1 ORDER BY id),
                    ARRAY(SELECT weight::bigint FROM tenants WHERE weight <> 1 ORDER BY id)
                FROM queue_state s
                LEFT JOIN limiters l ON l.version > \(known)
                """
            )
            let changes = try rows.map { try LimiterChange(row: $0) }
            state.withLock { state in
                let news = changes.filter { state.take($0) }
                news.first?.shareCommon(bandwidths)
                for change in news { change.share(bandwidths) }
            }
        }
    }
}

extension KnownLimiters.State {
    /// Whether jobs would be started otherwise than now.
    fileprivate func isNews(_ signal: Limiter.Signal, of host: Limiter.Address, askedAt time: Timestamp) -> Bool {
        switch signal {
        case .backOff: openCircuits[host].map { $0 <= time } ?? true
        case .open(let circuit): openCircuits[host].map { $0 < circuit.until.advanced(by: .seconds(-1)) } ?? true
        // A request from before the circuit was opened says nothing of it.
        case .proceed: openCircuits[host].map { $0 <= time } ?? false
        }
    }

    /// - Returns: false when it is known already.
    fileprivate mutating func take(_ change: LimiterChange) -> Bool {
        // Two that were read at once may come in any order.
        guard change.version >= version else { return false }
        version = change.version
        isPaused = change.isPaused
        pausedTenants = change.pausedTenants
        weights = change.weights
        guard let limiter = change.limiter else { return true }
        if change.isLimited { limited.insert(limiter) } else { limited.remove(limiter) }
        openCircuits[limiter] = change.circuitOpenUntil
        crowds[limiter] = change.crowd
        return true
    }
}

/// A limiter as it is now, and the settings for all.
private struct LimiterChange {
    let version: Int64
    let isPaused: Bool
    let pausedTenants: Set<Tenant.ID>
    var limiter: Limiter.Address?
    var isLimited = false
    var circuitOpenUntil: Timestamp?
    var crowd: Int?
    /// The weights of tenants that have not the usual one.
    let weights: [Tenant.ID: Int]
    /// Of the limiter, of all jobs, and of tenants.
    var bytesPerSecond: Int64?
    let commonBytesPerSecond: Int64?
    let bytesPerSecondOfTenants: [Tenant.ID: Int64]

    init(row: Row) throws {
        version = try row.decode(at: 0)
        isPaused = try row.decode(at: 1)
        pausedTenants = Set(try row.decode([Tenant.ID].self, at: 2))
        commonBytesPerSecond = try row.decode(at: 9)
        let (tenants, limits) = (try row.decode([Tenant.ID].self, at: 10), try row.decode([Int64].self, at: 11))
        bytesPerSecondOfTenants = Dictionary(uniqueKeysWithValues: zip(tenants, limits))
        let (weighted, weights) = (try row.decode([Tenant.ID].self, at: 13), try row.decode([Int64].self, at: 14))
        self.weights = Dictionary(uniqueKeysWithValues: zip(weighted, weights.map { Int($0) }))
        guard let tenant = try row.decode(Tenant.ID?.self, at: 3) else { return }
        limiter = Limiter.Address(tenant: tenant, kind: try row.decode(at: 4), key: try row.decode(at: 5))
        isLimited = try row.decode(at: 6)
        circuitOpenUntil = try row.decode(at: 7)
        bytesPerSecond = try row.decode(at: 8)
        crowd = try row.decode(Int32?.self, at: 12).map { Int($0) }
    }

    func shareCommon(_ bandwidths: SharedBandwidths) {
        bandwidths.set(commonBytesPerSecond, for: .all)
        bandwidths.set(tenants: bytesPerSecondOfTenants)
    }

    func share(_ bandwidths: SharedBandwidths) {
        if let limiter { bandwidths.set(bytesPerSecond, for: .limiter(limiter)) }
    }
}

extension Limiter.Kind: PostgresValue, PostgresArrayElement {}
