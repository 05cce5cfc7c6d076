import FetchJobs
import FetchRuntime
import Synchronization

/// Stores the events of a job during one attempt, for the endpoint that wants them.
///
/// It looks twice a second, so that events that come together are stored together; the events of the last look are
/// stored before the attempt's outcome is.
final class EventRecorder: Sendable {
    private struct State {
        var last: JobEvent.Position?
        /// The events that could not be stored yet.
        var waiting: [RunEvent] = []
        var stored = 0
        var progress: JobProgress?
        var progressIsDueAt = ContinuousClock.now.advanced(by: EventRecorder.timeBetweenProgress)
    }

    private static let timeBetweenLooks = Duration.milliseconds(500)
    private static let timeBetweenProgress = Duration.seconds(5)
    /// An origin decides how many redirects and parts there are; an attempt's further events are not stored.
    private static let maximumEvents = 1000
    /// How often the last look is repeated when nothing can be stored; then the outcome cannot be either.
    private static let maximumTries = 20

    private let live: LiveJob
    private let session: TenantSession.ID?
    private let wanted: Set<WebhookEvent>
    private let endpoint: WebhookEndpoint.ID
    private let queue: any DeliveryQueue
    private let state = Mutex(State())

    init(
        _ live: LiveJob, in session: TenantSession.ID?, _ wanted: Set<WebhookEvent>, to endpoint: WebhookEndpoint.ID,
        _ queue: any DeliveryQueue
    ) {
        (self.live, self.session, self.wanted, self.endpoint, self.queue) = (live, session, wanted, endpoint, queue)
    }

    /// Runs an attempt and returns its outcome when all that happened is stored.
    ///
    /// Not inlined: its caller would have room for the second task when there is none.
    @inline(never)
    nonisolated(nonsending) func record(
        _ run: nonisolated(nonsending) () async -> SharedOutcome
    ) async -> SharedOutcome {
        let outcome: SharedOutcome
        do {
            async let _: Void = watch()
            outcome = await run()
        }
        for _ in 0..<Self.maximumTries where !(await store()) { try? await Task.sleep(for: Self.timeBetweenLooks) }
        return outcome
    }

    private func watch() async {
        while !Task.isCancelled {
            _ = await store()
            try? await Task.sleep(for: Self.timeBetweenLooks)
            if wanted.contains(.jobProgress) { noteProgress() }
        }
    }

    private func noteProgress() {
        let progress = live.progress
        let isDue = state.withLock { state in
            guard state.progressIsDueAt <= .now, let progress, progress != state.progress else { return false }
            state.progressIsDueAt = .now.advanced(by: Self.timeBetweenProgress)
            state.progress = progress
            return true
        }
        if isDue { live.noteProgress() }
    }

    /// Stores new events; returns whether none is left to be stored.
    private func store() async -> Bool {
        let events = live.events(after: state.withLock { $0.last })
        let waiting = state.withLock { state in
            for event in events {
                state.last = event.position
                let new = RunEvent(event, of: live.job, in: session, tenant: live.tenant, to: endpoint)
                guard let new, wanted.contains(new.event), state.stored < Self.maximumEvents else { continue }
                state.stored += 1
                state.waiting.append(new)
            }
            return state.waiting
        }
        guard !waiting.isEmpty else { return true }
        do throws(StoreError) {
            try await queue.add(waiting)
            state.withLock { $0.waiting.removeFirst(waiting.count) }
            return true
        } catch {
            return false
        }
    }
}
