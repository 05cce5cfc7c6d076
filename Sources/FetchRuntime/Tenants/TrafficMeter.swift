package import FetchJobs
import Synchronization

/// What the jobs of this node have moved, by tenants, and whether a tenant may move more today.
///
/// It is counted in memory as attempts end, and written every ``interval`` in one statement for all tenants, which also
/// reads what the limited ones among them have on all nodes. So no job costs a statement. Together, nodes may let in
/// what arrives between two writes, and a node that is killed takes what it had not written with it.
package final class TrafficMeter: Sendable {
    /// How often it is written.
    package static let interval = Duration.seconds(5)

    private struct Total {
        /// On all nodes, without what is not written yet; nil until the database has said it.
        var bytes: Int64?
        /// When it was asked for.
        var askedAt: ContinuousClock.Instant
        /// Whether the tenant has wanted more since.
        var isWanted = true
    }

    private struct State {
        var unwritten: [Tenant.ID: Traffic] = [:]
        /// What is being written, and may be among the totals already.
        var writing: [Tenant.ID: Traffic] = [:]
        /// What tenants have, of those with a limit that want more.
        var totals: [Tenant.ID: Total] = [:]
        var dayEnd: Timestamp?
        var all = Traffic()
    }

    private let store: any TrafficStore
    private let limits: KnownTenantLimits
    private let clock: NodeClock
    private let state = Mutex(State())

    package init(store: any TrafficStore, limits: KnownTenantLimits, clock: NodeClock = .continuous) {
        self.store = store
        self.limits = limits
        self.clock = clock
    }

    /// Has the metrics tell what was counted since the start.
    package func report(to metrics: MetricsRegistry) {
        metrics.observe(.sentBytes) { [weak self] in Double(self?.all.sentBytes ?? 0) }
        metrics.observe(.receivedBytes) { [weak self] in Double(self?.all.receivedBytes ?? 0) }
    }

    private var all: Traffic { state.withLock { $0.all } }

    /// An attempt of a tenant's job is over.
    package func note(_ traffic: Traffic, of tenant: Tenant.ID) {
        guard traffic.bytes > 0 else { return }
        state.withLock { state in
            state.unwritten[tenant] = (state.unwritten[tenant] ?? Traffic()) + traffic
            state.all = state.all + traffic
        }
    }

    /// When a tenant that has moved as much as it may can move more; nil while it can.
    ///
    /// While nothing is known the database is asked, by everybody who comes. When nothing was heard of it for long, one
    /// asks, and who comes meanwhile goes by what was known.
    ///
    /// - Parameter limit: Of both directions, in a day.
    package func exhaustion(of tenant: Tenant.ID, limit: Int64) async throws(StoreError) -> Timestamp? {
        let now = clock.now
        let asks = state.withLock { state in
            var total = state.totals[tenant] ?? Total(askedAt: now)
            let isOld = now - total.askedAt >= Self.interval * 3
            if isOld { total.askedAt = now }
            total.isWanted = true
            state.totals[tenant] = total
            return isOld || total.bytes == nil
        }
        var answer: Int64?
        if asks {
            let day = try await store.add([:], reading: [tenant])
            take(day, askedAt: now)
            answer = day.ofTenants[tenant]?.bytes
        }
        return state.withLock { state in
            let own = [state.unwritten, state.writing].reduce(0) { $0 + ($1[tenant]?.bytes ?? 0) }
            // A write may have forgotten the answer meanwhile.
            return own + (state.totals[tenant]?.bytes ?? answer ?? 0) >= limit ? state.dayEnd : nil
        }
    }

    /// Writes what was counted; what the database did not take is kept for the next time.
    ///
    /// Called by one task at a time.
    package func write() async throws(StoreError) {
        let now = clock.now
        let (traffic, asked) = state.withLock { state in
            state.totals = state.totals.filter { limits[.maximumBytesPerDay, $0.key] != nil && $0.value.isWanted }
            for tenant in state.totals.keys { state.totals[tenant]?.isWanted = false }
            state.writing = state.unwritten
            state.unwritten = [:]
            return (state.writing, Set(state.totals.keys))
        }
        guard !traffic.isEmpty || !asked.isEmpty else { return }
        do throws(StoreError) {
            take(try await store.add(traffic, reading: asked), askedAt: now, isWritten: true)
        } catch {
            state.withLock { state in
                state.unwritten.merge(state.writing) { $0 + $1 }
                state.writing = [:]
            }
            throw error
        }
    }

    private func take(_ day: TrafficOfDay, askedAt time: ContinuousClock.Instant, isWritten: Bool = false) {
        state.withLock { state in
            if isWritten { state.writing = [:] }
            state.dayEnd = day.end
            for (tenant, traffic) in day.ofTenants {
                state.totals[tenant]?.bytes = traffic.bytes
                state.totals[tenant]?.askedAt = time
            }
        }
    }
}
