package import FetchJobs
import Synchronization

/// What jobs have moved, in memory: the second form of ``TrafficStore``.
///
/// Its day ends when a test says.
package final class MemoryTrafficStore: TrafficStore {
    private struct State {
        var day: [Tenant.ID: Traffic] = [:]
        var end = Timestamp.now.advanced(by: .seconds(3600))
        var statements = 0
        var failure: StoreError?
    }

    private let state = Mutex(State())

    package init() {}

    /// How often it was asked.
    package var statements: Int { state.withLock(\.statements) }

    /// The next day begins, and ends then.
    package func beginDay(endingAt end: Timestamp) { state.withLock { $0 = State(end: end) } }

    /// Refuses everything; nil for not.
    package func fail(_ failure: StoreError?) { state.withLock { $0.failure = failure } }

    package func add(
        _ traffic: [Tenant.ID: Traffic], reading asked: Set<Tenant.ID>
    ) async throws(StoreError) -> TrafficOfDay {
        let result: Result<TrafficOfDay, StoreError> = state.withLock { state in
            state.statements += 1
            if let failure = state.failure { return .failure(failure) }
            state.day.merge(traffic) { $0 + $1 }
            let read = asked.map { ($0, state.day[$0] ?? Traffic()) }
            return .success(TrafficOfDay(end: state.end, ofTenants: Dictionary(uniqueKeysWithValues: read)))
        }
        return try result.get()
    }
}
