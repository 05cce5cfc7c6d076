import FetchJobs
import Hummingbird
import Synchronization

/// Draws pages that take long, one after the other, and those of tenants in turn.
///
/// Whoever asks for many of them at once so takes one processor of a node at most, leaves the others to jobs, and has
/// the pages of others wait for one of his.
final class PageDrawing: Sendable {
    private typealias Turn = CheckedContinuation<Void, Never>

    private struct Line {
        var isDrawing = false
        var waiting: [Tenant.ID: [Turn]] = [:]
        /// The tenants with pages that wait, the next one first.
        var order: [Tenant.ID] = []

        mutating func add(_ turn: Turn, of tenant: Tenant.ID) {
            if waiting[tenant] == nil { order.append(tenant) }
            waiting[tenant, default: []].append(turn)
        }

        /// The page to draw now; nil for none, and nobody draws any more.
        mutating func next() -> Turn? {
            guard let tenant = order.first, let turn = waiting[tenant]?.first else {
                isDrawing = false
                return nil
            }
            order.removeFirst()
            waiting[tenant]?.removeFirst()
            if waiting[tenant]?.isEmpty == true { waiting[tenant] = nil } else { order.append(tenant) }
            return turn
        }
    }

    private let line = Mutex(Line())

    /// How many pages wait.
    var waiting: Int { line.withLock { $0.waiting.values.reduce(0) { $0 + $1.count } } }

    func draw(for tenant: Tenant.ID, _ page: @Sendable () -> Response) async -> Response {
        await withCheckedContinuation { turn in
            let begins = line.withLock { line in
                guard line.isDrawing else {
                    line.isDrawing = true
                    return true
                }
                line.add(turn, of: tenant)
                return false
            }
            if begins { turn.resume() }
        }
        defer { line.withLock { $0.next() }?.resume() }
        return page()
    }
}
