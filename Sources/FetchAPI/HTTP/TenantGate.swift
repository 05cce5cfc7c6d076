import FetchJobs
import FetchRuntime
import Synchronization

/// The limits of tenants that hold before a request is read.
final class TenantGate: Sendable {
    private let limits: KnownTenantLimits
    private let traffic: TrafficMeter
    private let rates = Mutex(RequestRates())

    init(limits: KnownTenantLimits, traffic: TrafficMeter) {
        self.limits = limits
        self.traffic = traffic
    }

    /// How many tenants have sent requests lately.
    var count: Int { rates.withLock(\.count) }

    /// Takes a request of a tenant; nil when there is no limit for it.
    ///
    /// - Throws: ``Problem`` `tooManyRequests`.
    func take(of tenant: Tenant.ID) throws -> RequestRates.Verdict? {
        guard let limit = limits[.maximumRequestsPerSecond, tenant] else { return nil }
        let verdict = rates.withLock { $0.take(of: tenant, limit: limit, at: .now) }
        guard !verdict.isAllowed else { return verdict }
        throw Problem(.tooManyRequests, "A tenant may send \(limit) requests a second to a node.")
            .limited(by: RequestRates.Verdict.name, verdict)
    }

    /// Refuses work of a tenant whose jobs have moved as much as they may today.
    func requireTraffic(of tenant: Tenant.ID) async throws {
        guard let limit = limits[.maximumBytesPerDay, tenant],
            let end = try await traffic.exhaustion(of: tenant, limit: limit)
        else { return }
        // A clock that is set wrong sends nobody away for longer than a day.
        let seconds = (end.microseconds - Timestamp.now.microseconds + 999_999) / 1_000_000
        throw Problem(.trafficExhausted, "The jobs of a tenant may move \(limit) bytes a day. Nothing was stored.")
            .limited(
                by: "bytesOfDay", quota: Int(limit), window: 86_400,
                retryingAfter: Int(min(max(seconds, 1), 86_400)))
    }
}

/// The limit of what tenants have stored, for work of which nobody knows yet how much it will leave.
struct StorageGate: Sendable {
    let limits: KnownTenantLimits
    let catalog: any BlobCatalog

    /// Refuses work of a tenant that has as many bytes stored as it may: nobody knows how large a body will be.
    func require(of tenant: Tenant.ID) async throws {
        guard limits[.maximumStoredBytes, tenant] != nil, let room = try await catalog.room(of: tenant), room.left <= 0
        else { return }
        throw Problem(
            .tooManyBytes,
            "A tenant may have \(room.maximum) bytes stored, and has them. Nothing was stored: delete jobs or blobs first."
        ).limited(by: "storedBytes", quota: Int(room.maximum), retryingAfter: 60)
    }
}
