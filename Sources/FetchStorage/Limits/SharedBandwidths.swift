package import FetchEngine
package import FetchJobs
import Synchronization

/// This node's part of the bandwidths that are set for all nodes together: each has the same.
package final class SharedBandwidths: BandwidthSource {
    /// The jobs that share a bandwidth.
    enum Scope: Hashable {
        case all
        case tenant(Tenant.ID)
        case limiter(Limiter.Address)
    }

    fileprivate struct State {
        var nodes: Int64 = 1
        /// The configured limits, for all nodes together.
        var limits: [Scope: Int64] = [:]
        var bandwidths: [Scope: Bandwidth] = [:]
    }

    private let state = Mutex(State())
    /// Mostly none is set, and every piece of a body asks.
    private let exist = Atomic<Bool>(false)

    package func bandwidths(of job: ClaimedJob) -> [Bandwidth] {
        guard exist.load(ordering: .relaxed) else { return [] }
        let limiters = job.limiters
        return state.withLock { state in
            var bandwidths = [state.bandwidths[.all], state.bandwidths[.tenant(job.tenant)]].compactMap(\.self)
            for limiter in limiters {
                if let bandwidth = state.bandwidths[.limiter(limiter)] { bandwidths.append(bandwidth) }
            }
            return bandwidths
        }
    }

    /// - Parameter limit: Nil for any number of bytes.
    func set(_ limit: Int64?, for scope: Scope) {
        state.withLock { state in
            guard state.limits[scope] != limit else { return }
            state.limits[scope] = limit
            state.share(scope)
            exist.store(!state.limits.isEmpty, ordering: .relaxed)
        }
    }

    /// Sets those of all tenants.
    func set(tenants: [Tenant.ID: Int64]) {
        let known = state.withLock { state in
            state.limits.keys.compactMap { if case .tenant(let tenant) = $0 { tenant } else { nil } }
        }
        for tenant in known where tenants[tenant] == nil { set(nil, for: .tenant(tenant)) }
        for (tenant, limit) in tenants { set(limit, for: .tenant(tenant)) }
    }

    /// - Parameter count: How many nodes run jobs, this one among them.
    func share(among count: Int64) {
        state.withLock { state in
            guard state.nodes != count else { return }
            state.nodes = count
            for scope in state.limits.keys { state.share(scope) }
        }
    }
}

extension SharedBandwidths.State {
    /// Those who wait for one that is gone go on.
    fileprivate mutating func share(_ scope: SharedBandwidths.Scope) {
        let part = limits[scope].map { max(1, $0 / nodes) }
        if let bandwidth = bandwidths[scope] {
            bandwidth.bytesPerSecond = part
            if part == nil { bandwidths[scope] = nil }
        } else if let part {
            bandwidths[scope] = Bandwidth(bytesPerSecond: part)
        }
    }
}
