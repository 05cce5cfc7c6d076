import FetchEngine
package import FetchJobs
import Synchronization

/// The jobs that run on this node, and the switch that stops each.
final class RunningJobs: Sendable {
    private let switches = Mutex<[Job.ID: StopSwitch]>([:])

    var count: Int { switches.withLock { $0.count } }

    func add(_ id: Job.ID) -> StopSwitch {
        let stop = StopSwitch()
        switches.withLock { $0[id] = stop }
        return stop
    }

    func remove(_ id: Job.ID) { _ = switches.withLock { $0.removeValue(forKey: id) } }

    func stop(_ id: Job.ID, _ reason: StopSwitch.Reason) {
        switches.withLock { $0[id] }?.stop(reason)
    }

    func stopAll(_ reason: StopSwitch.Reason) {
        for stop in switches.withLock({ Array($0.values) }) { stop.stop(reason) }
    }
}

/// Stops one job, once, whenever: before its transfer starts or while it runs.
package final class StopSwitch: Sendable {
    package enum Reason: Sendable {
        /// Its client asked for it.
        case cancelled(Cancellation)
        /// The job is another node's now: nothing of it may be stored.
        case leaseLost
        /// The node stops; another one is to run the job.
        case drained
    }

    private struct State {
        var reason: Reason?
        var task: SessionTask?
        /// Waits for the switch to be thrown.
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    package var reason: Reason? { state.withLock { $0.reason } }

    func stop(_ reason: Reason) {
        let (task, waiter) = state.withLock { state in
            if state.reason == nil { state.reason = reason }
            return (state.task, state.waiter.take())
        }
        task?.cancel()
        waiter?.resume()
    }

    /// Waits for a time; it is cut short when the switch is thrown.
    func pause(for time: Duration) async {
        await withTaskGroup { group in
            group.addTask { await self.isThrown() }
            // Cancelled when the switch is thrown: nothing to tell anyone.
            group.addTask { try? await Task.sleep(for: time) }
            await group.next()
            group.cancelAll()
        }
    }

    /// Returns when the switch is thrown, or its task is cancelled.
    private func isThrown() async {
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

    /// Names the transfer to be cancelled; cancels it at once when the switch was thrown before.
    func attach(_ task: SessionTask) {
        let isThrown = state.withLock { state in
            state.task = task
            return state.reason != nil
        }
        if isThrown { task.cancel() }
    }
}
