import Synchronization

/// Whether other nodes live, as this one has seen when it last extended its lease.
package final class Peers: Sendable {
    private let state = Atomic<Bool>(false)

    package init() {}

    package var exist: Bool { state.load(ordering: .relaxed) }

    func note(_ exist: Bool) { state.store(exist, ordering: .relaxed) }
}
