import FetchJobs
import FetchRuntime
import Synchronization

/// The events of running jobs that their endpoints want.
final class EventSubscriptions: Sendable {
    private struct Known {
        let events: Set<WebhookEvent>
        let since: ContinuousClock.Instant
    }

    /// A change of an endpoint counts for jobs that begin so much later.
    private static let age = Duration.seconds(2)

    private let queue: any DeliveryQueue
    private let known = Mutex<[WebhookEndpoint.ID: Known]>([:])

    init(queue: any DeliveryQueue) { self.queue = queue }

    /// Stores the events of a job while it runs; nil when no endpoint wants them.
    nonisolated(nonsending) func recorder(
        of job: ClaimedJob, in session: EngineSession, _ live: LiveJob
    ) async throws(StoreError) -> EventRecorder? {
        let webhook = job.spec.webhook ?? session.webhook
        guard let endpoint = job.endpoint ?? webhook?.endpoint else { return nil }
        var wanted = try await events(webhook?.events, endpoint, job.tenant).filter(\.isOfRun)
        // The delegate that is asked hears of a question by the question itself.
        let delegate = session.configuration(with: job.spec.configuration).delegate
        if delegate.via == .webhook, delegate.endpoint == endpoint { wanted.remove(.jobQuestion) }
        guard !wanted.isEmpty else { return nil }
        return EventRecorder(live, in: job.spec.session, wanted, to: endpoint, queue)
    }

    /// - Parameter named: The events that the job or its session names; nil for those of the endpoint.
    private nonisolated(nonsending) func events(
        _ named: [WebhookEvent]?, _ endpoint: WebhookEndpoint.ID, _ tenant: Tenant.ID
    ) async throws(StoreError) -> Set<WebhookEvent> {
        if let named { return Set(named) }
        let now = ContinuousClock.now
        if let known = known.withLock({ $0[endpoint] }), now - known.since < Self.age { return known.events }
        let events = Set(try await queue.events(of: endpoint, tenant))
        known.withLock { known in
            if known.count >= 10_000 { known.removeAll() }
            known[endpoint] = Known(events: events, since: now)
        }
        return events
    }
}
