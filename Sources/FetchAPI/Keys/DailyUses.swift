import FetchJobs
import Synchronization

/// Tells the audit log of the keys and tokens that are used: each once a day, for each network that it is used from.
///
/// Every request of theirs would be an entry otherwise. A node remembers a bounded number of them; others are told of on
/// a later day.
final class DailyUses: Sendable {
    static let maximum = 10_000
    private static let microsecondsOfDay: Int64 = 86_400_000_000

    private struct Use: Hashable {
        let key: String?
        let client: String?
    }

    private let audit: any AuditLog
    private let state = Mutex<(day: Int64, seen: Set<Use>)>((0, []))

    init(audit: any AuditLog) { self.audit = audit }

    func note(_ actor: AuditActor, of tenant: Tenant.ID, at now: Timestamp = .now) {
        let day = now.microseconds / Self.microsecondsOfDay
        let use = Use(key: actor.key, client: actor.client)
        let isFirst = state.withLock { state in
            if state.day != day { state = (day, []) }
            return state.seen.count < Self.maximum && state.seen.insert(use).inserted
        }
        if isFirst { audit.note(AuditEvent(.useKey, actor.key, of: tenant, by: actor)) }
    }
}
