import Synchronization

/// Whether a private cluster's server can be used.
package enum ClusterState: Sendable {
    case starting
    /// It answers. A process that is no owner uses the server of another one.
    case ready(isOwner: Bool)
    /// It failed again and again; it is still being tried, but not ready.
    case failing(PrivateClusterError)
    case stopped
}

/// The state of a private cluster and those who wait for it.
final class ClusterReadiness: Sendable {
    private struct Storage {
        var state = ClusterState.starting
        var hasEnded = false
        /// How often it became ready.
        var count = 0
        var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
        var lastWaiter = 0
    }

    private let storage = Mutex(Storage())

    var state: ClusterState { storage.withLock { $0.state } }
    var count: Int { storage.withLock { $0.count } }
    var wasReady: Bool { count > 0 }

    func become(_ state: ClusterState) {
        let ready = storage.withLock { storage -> [CheckedContinuation<Void, any Error>] in
            storage.state = state
            guard case .ready = state else { return [] }
            storage.count += 1
            defer { storage.waiters = [:] }
            return Array(storage.waiters.values)
        }
        ready.forEach { $0.resume() }
    }

    /// Nothing more will come; waiting callers get the reason.
    func end() {
        let waiters = storage.withLock { storage -> [CheckedContinuation<Void, any Error>] in
            storage.hasEnded = true
            defer { storage.waiters = [:] }
            return Array(storage.waiters.values)
        }
        waiters.forEach { $0.resume(throwing: reason) }
    }

    private var reason: PrivateClusterError {
        if case .failing(let error) = state { return error }
        return PrivateClusterError(.startFailed, "The private database was stopped.")
    }

    func wait() async throws {
        let number = storage.withLock { storage in
            storage.lastWaiter += 1
            return storage.lastWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { add($0, number) }
        } onCancel: {
            storage.withLock { $0.waiters.removeValue(forKey: number) }?.resume(throwing: CancellationError())
        }
    }

    private func add(_ waiter: CheckedContinuation<Void, any Error>, _ number: Int) {
        let isCancelled = Task.isCancelled
        let answer = storage.withLock { storage -> Result<Void, any Error>? in
            if case .ready = storage.state { return .success(()) }
            if storage.hasEnded { return .failure(CancellationError()) }
            if isCancelled { return .failure(CancellationError()) }
            storage.waiters[number] = waiter
            return nil
        }
        if let answer { waiter.resume(with: answer) }
    }
}
