package import FetchJobs
import Synchronization

/// How other nodes reach this one, to be stored with its lease.
package final class NodePresence: Sendable {
    package let id: Node.ID
    /// Where the node keeps bytes that others have to ask it for.
    package let volume: Volume
    package let roles: Set<NodeRole>
    private let state = Mutex<String?>(nil)

    package init(
        id: Node.ID = Node.ID(), volume: Volume = .new(), roles: Set<NodeRole> = Set(NodeRole.allCases)
    ) {
        self.id = id
        self.volume = volume
        self.roles = roles
    }

    /// Nil before the node listens, and when others cannot reach it.
    package var url: String? { state.withLock { $0 } }

    package func listens(at url: String?) { state.withLock { $0 = url } }
}
