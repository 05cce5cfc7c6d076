package import FetchEngine
package import FetchJobs
import Synchronization

/// Stops one job, once, or holds it for a while; whenever: before its transfer starts or while it runs.
package final class StopSwitch: Sendable {
    package enum Reason: Sendable {
        /// Its client asked for it.
        case cancelled(Cancellation)
        /// Its `expiresAt` has passed.
        case expired
        /// The job is another node's now: nothing of it may be stored.
        case leaseLost
        /// The node stops; another one is to run the job.
        case drained
        /// The job waits for an answer without a node, which goes on with it where this one stands.
        case parked
    }

    private struct State {
        var reason: Reason?
        /// The runner keeps it; a job that is over must not keep its session.
        weak var task: SessionTask?
        var isSuspended = false
        /// A request is sent that must not be repeated.
        var isBegun = false
        /// The pace that was set since the job was claimed; nil for that of its spec.
        var pace: JobPace?
        /// Called once when the switch is thrown.
        var thrown: (@Sendable () -> Void)?
        /// Waits for the switch to be thrown.
        var waiter: CheckedContinuation<Void, Never>?
    }

    /// The resources of its node that the job has; only ``Slots`` uses this, under its own lock.
    struct Position {
        /// It is one of those of its origin queue that load.
        var isLoading = false
        /// Its client holds it: others have its slot and its place in the origin queue.
        var isLent = false
        /// Its client holds it no longer, and it waits for a slot; others have its own until then.
        var isReturning = false
        /// It waits for an answer of its delegate: others have its slot, and its connection is still its own.
        var isAsking = false
        /// The job is over here: an answer that comes late takes no slot for it.
        var hasLeft = false
        /// The index of its origin queue; nil until that was looked up, and while it is not in it.
        var index: Int?
    }

    /// The tenant of the job.
    package let tenant: Tenant.ID
    /// In which it is one of those that load; nil for one that is in none.
    package let originQueue: OriginQueue.Key?
    /// What the content of the job takes.
    package let bytesInMemory: Int
    let position = Mutex(Position())
    private let state = Mutex(State())

    package init(tenant: Tenant.ID, originQueue: OriginQueue.Key? = nil, bytesInMemory: Int = 0) {
        self.tenant = tenant
        self.originQueue = originQueue
        self.bytesInMemory = bytesInMemory
    }

    /// The error of a load that this switch ended: a job that expires was not cancelled by its client, and one that was
    /// stopped while its bytes were out of reach has not failed by that.
    package func judged(_ error: LoadError) -> LoadError {
        var error = error
        if reason != nil, error.code == .cannotWriteToFile {
            error = LoadError(.cancelled, "The job was stopped while the store of its bytes was out of reach.")
        }
        guard case .expired = reason, error.code == .cancelled else { return error }
        error.code = .timedOut
        error.message = "The job expired while it ran: expiresAt has passed."
        return error
    }

    package var isSuspended: Bool { state.withLock { $0.isSuspended } }

    package var reason: Reason? { state.withLock { $0.reason } }

    package func stop(_ reason: Reason) {
        let (task, waiter, thrown) = state.withLock { state in
            if state.reason == nil { state.reason = reason }
            return (state.task, state.waiter.take(), state.thrown.take())
        }
        task?.cancel()
        waiter?.resume()
        thrown?()
    }

    /// Leaves a job that its client holds to the queue, where it stays suspended; not one whose request must not be
    /// repeated, which would fail by that.
    package func giveBack() {
        let isGivenBack = state.withLock { state in
            guard state.isSuspended, !state.isBegun else { return false }
            state.reason = state.reason ?? .drained
            return true
        }
        if isGivenBack { stop(.drained) }
    }

    /// A request is about to be sent that must not be repeated.
    ///
    /// - Returns: false when another node is to run the job: nothing is to be sent then.
    package func begin() -> Bool {
        state.withLock { state in
            if case .drained = state.reason { return false }
            state.isBegun = true
            return true
        }
    }

    /// Has something done when the switch is thrown; at once when it was thrown before.
    package func whenThrown(_ action: @escaping @Sendable () -> Void) {
        let isThrown = state.withLock { state in
            if state.reason == nil { state.thrown = action }
            return state.reason != nil
        }
        if isThrown { action() }
    }

    /// Waits for a time; it is cut short when the switch is thrown.
    package func pause(for time: Duration) async {
        await withTaskGroup { group in
            group.addTask { await self.isThrown() }
            // Cancelled when the switch is thrown: nothing to tell anyone.
            group.addTask { try? await Task.sleep(for: time) }
            await group.next()
            group.cancelAll()
        }
    }

    /// Returns when the switch is thrown, or its task is cancelled.
    package func isThrown() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard state.reason == nil, !Task.isCancelled else { return true }
                    state.waiter = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiter.take() }?.resume()
        }
    }

    /// Holds the transfer where it is.
    package func suspend() {
        // Under the lock, so that it and its end keep their order.
        state.withLock { state in
            guard !state.isSuspended else { return }
            state.isSuspended = true
            state.task?.suspend()
        }
    }

    package func resume() {
        state.withLock { state in
            guard state.isSuspended else { return }
            state.isSuspended = false
            state.task?.resume()
        }
    }

    /// Has the transfer go on at another pace, and those after it.
    package func setPace(_ pace: JobPace) {
        state.withLock { state in
            guard state.pace != pace else { return }
            state.pace = pace
            state.task?.go(at: pace)
        }
    }

    /// Names the transfer to be cancelled; cancels it at once when the switch was thrown before.
    package func attach(_ task: SessionTask) {
        let isThrown = state.withLock { state in
            state.task = task
            if state.isSuspended { task.suspend() }
            if let pace = state.pace { task.go(at: pace) }
            return state.reason != nil
        }
        if isThrown { task.cancel() }
    }
}

extension SessionTask {
    fileprivate func go(at pace: JobPace) {
        priority = Float(pace.priority)
        maximumBytesPerSecond = pace.maximumBytesPerSecond ?? session.configuration.maximumBytesPerSecond
    }
}
