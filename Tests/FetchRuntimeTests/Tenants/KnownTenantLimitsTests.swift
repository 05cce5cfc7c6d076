import FetchJobs
import FetchRuntime
import Synchronization
import TestSupport
import Testing

/// The limits of tenants as a node knows them.
@Suite struct KnownTenantLimitsTests {
    @Test func `a tenant's own limit comes before that of all, and is read when the version changes`() async throws {
        let store = MemoryTenantStore(["default", "crawler"])
        let heard = Mutex<[RunningLimits]>([])
        let limits = KnownTenantLimits(standard: [.maximumRunningJobs: 8, .maximumSessions: 3], store: store) { known in
            heard.withLock { $0.append(known.running) }
        }
        try await limits.refresh()
        _ = try await store.change(TenantChange(limits: [.maximumRunningJobs: .own(2)]), ofTenant: "crawler")
        #expect(limits[.maximumRunningJobs, .second] == 8)
        try await limits.refresh(to: 1)
        #expect(limits[.maximumRunningJobs, .second] == 2 && limits[.maximumRunningJobs, .first] == 8)
        #expect(limits[.maximumBytesPerDay, .second] == nil)
        #expect(limits.limits(of: .second) == [.maximumRunningJobs: 2, .maximumSessions: 3])
        _ = try await store.change(TenantChange(limits: [.maximumRunningJobs: .standard]), ofTenant: "crawler")
        try await limits.refresh(to: 1)
        #expect(limits[.maximumRunningJobs, .second] == 2)
        try await limits.refresh(to: 2)
        #expect(limits[.maximumRunningJobs, .second] == 8)
        #expect(
            heard.withLock(\.self) == [
                RunningLimits(standard: 8), RunningLimits(standard: 8, own: [.second: 2]), RunningLimits(standard: 8),
            ])
    }
}
