package import FetchJobs
import Synchronization

/// The audit log of a test, in memory: the second form of ``AuditLog``.
package final class MemoryAuditLog: AuditLog {
    private let state = Mutex<[AuditEntry]>([])

    package init() {}

    /// All that there are, the oldest first.
    package var all: [AuditEntry] { state.withLock { $0 } }

    package func record(_ event: AuditEvent) async throws(StoreError) { add(event) }

    /// Each at once: a test sees it when it has been noted.
    package func note(_ event: AuditEvent) { add(event) }

    package func entries(
        matching filter: AuditFilter, after entry: AuditEntry.ID?, limit: Int
    ) async throws(StoreError) -> [AuditEntry] {
        let entries = all.reversed().drop { candidate in entry.map { $0 <= candidate.id } ?? false }
        return Array(entries.filter(filter.matches).prefix(limit))
    }

    package func verify(_ chain: Tenant.ID?) async throws(StoreError) -> [AuditChainReport] {
        Dictionary(grouping: all, by: \.chain).filter { chain == nil || $0.key == chain }
            .sorted { $0.key.rawValue < $1.key.rawValue }
            .map { chain, entries in
                let anchor = AuditChain.origin(of: chain)
                var check = AuditChain(after: anchor)
                for entry in entries { check.check(entry) }
                return AuditChainReport(
                    chain: chain, tenant: nil, anchor: anchor, head: check.end, fault: check.fault)
            }
    }

    private func add(_ event: AuditEvent) {
        state.withLock { entries in
            let last = entries.last { $0.chain == event.chain }
            let (sequence, id, now) = ((last?.sequence ?? 0) + 1, AuditEntry.ID(), Timestamp.now)
            let make = { (hash: [UInt8]) in
                AuditEntry(
                    id: id, chain: event.chain, tenant: nil, sequence: sequence, at: now, until: nil, count: 1,
                    actor: event.actor.kind.rawValue, key: event.actor.key, signIn: event.actor.signIn,
                    client: event.actor.client, request: event.actor.request, action: event.action.rawValue,
                    object: event.object, details: event.details, hash: hash)
            }
            let previous = last?.hash ?? AuditChain.origin(of: event.chain).hash
            entries.append(make(make([]).hash(after: previous)))
        }
    }
}

extension AuditFilter {
    fileprivate func matches(_ entry: AuditEntry) -> Bool {
        let subject = action.flatMap { $0.hasSuffix(".*") ? $0.dropLast(1) : nil }
        return (chain == nil || chain == entry.chain) && (from.map { $0 <= entry.at } ?? true)
            && (to.map { entry.at < $0 } ?? true)
            && (actor == nil || [entry.actor, entry.key, entry.signIn].contains(actor))
            && (action == nil || action == entry.action || subject.map { entry.action.hasPrefix($0) } ?? false)
            && (object == nil || object == entry.object)
    }
}
