package import FetchJobs
package import FetchRuntime
package import Logging
import ServiceLifecycle
import Synchronization

/// Ends sessions and groups when their last job has ended, and lets their clients be told.
///
/// Those of which a job has just ended come first; a look at all goes on between them, a part at a time. So nobody
/// waits because another tenant has many.
package final class CompletionNotifier: Service, Notifiable {
    /// Jobs that end together are looked at together.
    static let pause = Duration.milliseconds(20)
    /// How many sessions, and how many groups, a part of the look at all has.
    static let limit = 200

    /// What is to be looked at.
    private struct Due {
        var sessions: Set<SessionAddress> = []
        var groups: Set<JobGroup.Address> = []
        var isForAll = false

        var hasEnds: Bool { !sessions.isEmpty || !groups.isEmpty }
    }

    /// A look at all sessions and groups.
    private struct Look {
        struct Place<Address> {
            var last: Address?
        }

        /// Where it goes on; nil when it has seen the last.
        var sessions: Place<SessionAddress>? = Place()
        var groups: Place<JobGroup.Address>? = Place()

        var isOver: Bool { sessions == nil && groups == nil }
    }

    private let sessions: any SessionStore
    private let groups: any GroupStore
    private let courier: any Notifiable
    private let logger: Logger
    private let clock: NodeClock
    private let condition = Condition()
    private let due = Mutex(Due())

    /// - Parameter courier: Is woken when there may be an event to deliver.
    package init(
        sessions: any SessionStore, groups: any GroupStore, courier: any Notifiable, logger: Logger,
        clock: NodeClock = .continuous
    ) {
        self.sessions = sessions
        self.groups = groups
        self.courier = courier
        self.logger = logger
        self.clock = clock
    }

    /// Has all be looked at.
    package func notify() {
        due.withLock { $0.isForAll = true }
        condition.signal()
    }

    /// Has the session and the group of a job be looked at that has ended.
    func noteEnd(of job: ClaimedJob) {
        let (session, group) = (job.spec.session, job.spec.group)
        guard session != nil || group != nil else { return }
        due.withLock { due in
            if let session { due.sessions.insert(SessionAddress(tenant: job.tenant, session: session)) }
            if let group { due.groups.insert(JobGroup.Address(tenant: job.tenant, id: group)) }
        }
        condition.signal()
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            var look: Look?
            for await _ in self.condition.values {
                await self.settle(&look)
                // Cancelled when the service stops, as the loop is then.
                try? await self.clock.sleep(for: Self.pause)
                if look != nil || self.due.withLock({ $0.isForAll }) { self.condition.signal() }
            }
        }
    }

    private func settle(_ look: inout Look?) async {
        let isLooking = look != nil
        let due = self.due.withLock { due in
            // What the look has passed by is looked at once more, after it.
            defer { due = Due(isForAll: due.isForAll && isLooking) }
            return due
        }
        var next = look ?? (due.isForAll ? Look() : nil)
        do throws(StoreError) {
            try await sessions.settle(Array(due.sessions))
            try await groups.settle(Array(due.groups))
            if let last = next { next = try await part(of: last) }
            look = next
            // The courier is not woken for each part of a long look.
            if due.hasEnds || next == nil { courier.notify() }
        } catch {
            // The next heartbeat of the node finds them again.
            look = nil
            logger.warning("sessions and groups were not settled", metadata: ["error": "\(error)"])
        }
    }

    /// Looks at the next part; where the look goes on after it, nil when it is over.
    private func part(of look: Look) async throws(StoreError) -> Look? {
        var next = look
        if let place = look.sessions {
            next.sessions = try await sessions.settle(after: place.last, limit: Self.limit).map { Look.Place(last: $0) }
        }
        if let place = look.groups {
            next.groups = try await groups.settle(after: place.last, limit: Self.limit).map { Look.Place(last: $0) }
        }
        return next.isOver ? nil : next
    }
}
