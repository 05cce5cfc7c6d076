/// The jobs, as a worker sees them: claim, begin, settle.
///
/// What an attempt waits for runs where its caller does, so that it need not leave the loop of its transfer.
package protocol WorkQueue: Sendable {
    /// Claims jobs that wait for this node, up to `limit`, and of each tenant as many as there is room for.
    func claim(upTo limit: Int, room: ClaimRoom) async throws(StoreError) -> Claim

    /// Commits that a request which must not be repeated is about to be sent.
    ///
    /// - Returns: false when the claim was lost: the job is another node's now.
    nonisolated(nonsending) func begin(_ job: ClaimedJob) async throws(StoreError) -> Bool

    /// How many jobs are to be tried together next that nodes were lost with so often that they may be the cause (REL-5);
    /// nil when none waits.
    func nextTrial() async throws(StoreError) -> Int?

    /// Claims suspects that are to be tried with so many, or fewer.
    func claimSuspects(_ count: Int) async throws(StoreError) -> [ClaimedJob]

    /// Commits that suspects are tried together from now on, or that one has its node for itself: when that is lost, it
    /// is its fault.
    ///
    /// - Returns: Those whose claims were not lost.
    func beginTrial(_ jobs: [ClaimedJob], isAlone: Bool) async throws(StoreError) -> Set<Job.ID>

    /// Commits how a job ended: its final state, the attempt, the body and the webhook delivery, at once.
    ///
    /// - Returns: false when the claim was lost: nothing was written.
    nonisolated(nonsending) func settle(_ job: ClaimedJob, _ outcome: JobOutcome) async throws(StoreError) -> Bool

    /// Commits that an attempt failed and that another one follows after this time.
    ///
    /// - Returns: false when there is to be none: the claim was lost, or the job is being cancelled.
    nonisolated(nonsending) func retry(
        _ job: ClaimedJob, _ outcome: JobOutcome, after wait: Duration
    ) async throws(StoreError) -> Bool

    /// Lets jobs be claimed whose time has come, and ends those that have waited for too long.
    func promote() async throws(StoreError) -> Promotion

    /// Lets discretionary jobs be claimed although they could wait: there is little to do.
    ///
    /// - Returns: How many, up to the limit.
    func pullForward(limit: Int) async throws(StoreError) -> Int

    /// The lanes with limits that a job is in, as far as this node knows.
    func lanes(of job: ClaimedJob) -> [Lane.Address]

    /// Lets as many jobs through the gates of lanes as their limits allow.
    ///
    /// - Parameter lanes: Nil for all at whose gates jobs wait.
    func admit(_ lanes: [Lane.Address]?) async throws(StoreError) -> Admission

    /// Goes by what the origin of a host has answered to a request of this time.
    ///
    /// One that is parked has no job started until its time; then one at a time is, until the origin says to proceed.
    ///
    /// - Returns: Whether that changed what jobs are started.
    nonisolated(nonsending) func heed(
        _ signal: Lane.Signal, of host: Lane.Address, askedAt time: Timestamp
    ) async throws(StoreError) -> Bool

    /// Extends this node's lease, and tells what there is to do.
    func pulse() async throws(StoreError) -> Pulse

    /// Takes the jobs of nodes whose lease has run out from them, for any node to claim.
    func rescue() async throws(StoreError) -> Rescue

    /// How long the job has been due that waits for the longest time; nil when none waits, or none is to be started.
    func oldestDueAge() async throws(StoreError) -> Duration?

    /// Removes what has outlived its use; a node calls it now and then.
    func tidy() async throws(StoreError)

    /// Parts jobs by the time they were stored at, and removes parts whose jobs have all been final for this long.
    ///
    /// A node calls it now and then; no part is longer than a sixth of that time, or an hour.
    func keepRanges(for retention: Duration) async throws(StoreError)

    /// Removes jobs that have been final for this long and are in no part that goes as a whole, some at a time.
    ///
    /// - Returns: How many; there may be more when it is not 0.
    func removeFinal(after retention: Duration) async throws(StoreError) -> Int

    /// Takes jobs from this node that it has without knowing: the answer of the statement that gave them was lost.
    ///
    /// - Parameters:
    ///   - held: Those that it knows of.
    ///   - unsent: Attempts that have sent nothing, whatever is stored of them.
    /// - Returns: How many there were.
    func rescueUnheld(except held: Set<Job.ID>, unsent: [ClaimedJob]) async throws(StoreError) -> Int

    /// Has jobs of a host wait at its gate from now on, and run so many at once on all nodes.
    ///
    /// - Parameter surplus: Claimed jobs that are to wait there too: they were not begun.
    /// - Returns: Those that do.
    func setCrowd(
        _ limit: Int, of host: Lane.Address, givingBack surplus: [ClaimedJob]
    ) async throws(StoreError) -> Set<Job.ID>

    /// Gives the claims of these jobs back, for other nodes to take: they were not begun.
    func release(_ jobs: [ClaimedJob]) async throws(StoreError)
}

/// What a node got to run.
package struct Claim: Sendable {
    package let jobs: [ClaimedJob]
    /// Nothing else waits that the node could have had.
    package let isLast: Bool
    /// Where jobs wait now that could have been had but for the limits of a lane.
    package let gated: Set<Lane.Address>
    /// After how long to look again for jobs that came late; nil when all was looked at.
    package let nextLook: Duration?
    /// Tenants that may have more, for which there was no more room.
    package let full: Set<Tenant.ID>

    package init(
        jobs: [ClaimedJob], isLast: Bool, gated: Set<Lane.Address> = [], nextLook: Duration? = nil,
        full: Set<Tenant.ID> = []
    ) {
        self.jobs = jobs
        self.isLast = isLast
        self.gated = gated
        self.nextLook = nextLook
        self.full = full
    }
}

/// How many jobs of each tenant a node has room for.
package struct ClaimRoom: Sendable {
    package var ofTenants: [Tenant.ID: Int] = [:]
    package var ofOthers: Int

    package init(ofOthers: Int = .max) { self.ofOthers = ofOthers }

    package func of(_ tenant: Tenant.ID) -> Int { ofTenants[tenant] ?? ofOthers }

    package mutating func take(_ count: Int, of tenant: Tenant.ID) { ofTenants[tenant] = of(tenant) - count }
}

/// What became of jobs that wait at the gates of lanes.
package struct Admission: Sendable {
    /// Jobs can be claimed that could not before.
    package var hasQueuedJobs = false
    /// After how long lanes may let more through, by themselves.
    package var next: [Lane.Address: Duration] = [:]
    package var failures: [UpkeepFailure] = []

    package init() {}
}

/// A job that this node is to run.
///
/// An object, for it is passed on by many on its way and never copied.
package final class ClaimedJob: Sendable {
    package let id: Job.ID
    package let tenant: Tenant.ID
    package let spec: JobSpec
    /// Counts the claims of the job; every write of the attempt names it, so that a node which lost the job writes
    /// nothing (REL-3).
    package let claim: Int32
    /// How many of its attempts were followed by another one.
    package let tries: Int
    /// When it is given up.
    package let expiresAt: Timestamp?
    /// What the job has to see of its session's stores at least: all that was written before it was submitted.
    package let stores: StoresVersion
    /// When it was stored, if it was claimed by that; nil of a job that has waited.
    package let storedAt: Timestamp?
    /// Whether the gate of its host has let it through, and counts it on all nodes.
    package let isCounted: Bool
    /// For how long it had been due when it was claimed; nil when it was claimed as it was stored, or had to pass a gate.
    package let waited: Duration?
    /// Whose connections it shares; nil when its URL has no host.
    package let line: HostLine.Key?

    package init(
        id: Job.ID,
        tenant: Tenant.ID,
        spec: JobSpec,
        claim: Int32,
        tries: Int = 0,
        expiresAt: Timestamp? = nil,
        stores: StoresVersion = StoresVersion(),
        storedAt: Timestamp? = nil,
        isCounted: Bool = false,
        waited: Duration? = nil
    ) {
        self.id = id
        self.tenant = tenant
        self.spec = spec
        self.claim = claim
        self.tries = tries
        self.expiresAt = expiresAt
        self.stores = stores
        self.storedAt = storedAt
        self.isCounted = isCounted
        self.waited = waited
        line = HostLine.Key(spec, of: tenant)
    }

    /// It was claimed before and nothing is known of what came of that: it may have been lost with its node.
    package var mayHaveBeenLost: Bool { Int(claim) > tries + 1 }

    package var session: SessionAddress { SessionAddress(tenant: tenant, session: spec.session ?? .default) }
}

/// What became of the jobs that wait for a time.
package struct Promotion: Sendable {
    /// Jobs can be claimed that could not before.
    package let hasQueuedJobs: Bool
    /// Jobs have ended.
    package let hasEndedJobs: Bool
    /// How long nothing of this kind happens; nil when no job waits for a time.
    package let next: Duration?
    package let failures: [UpkeepFailure]

    package init(hasQueuedJobs: Bool, hasEndedJobs: Bool, next: Duration?, failures: [UpkeepFailure] = []) {
        self.hasQueuedJobs = hasQueuedJobs
        self.hasEndedJobs = hasEndedJobs
        self.next = next
        self.failures = failures
    }
}

/// What a node learns each time it extends its lease.
package struct Pulse: Sendable {
    /// Jobs wait that any node may claim.
    package let hasQueuedJobs: Bool
    /// Jobs wait whose time comes before the next look.
    package let hasJobsToPromote: Bool
    /// Jobs wait at the gates of lanes.
    package let hasGatedJobs: Bool
    /// Jobs wait that are to be tried alone, or nearly so.
    package let hasSuspects: Bool
    /// Webhook deliveries are due.
    package let hasDueDeliveries: Bool
    /// Jobs that this node runs and is asked to stop.
    package let cancelled: [Job.ID]
    /// Those of them that are to keep what they have.
    package let keepingPartial: [Job.ID]
    /// Jobs that this node has and that are held.
    package let suspended: [Job.ID]
    /// How those of its jobs are to go on whose pace was changed.
    package let paces: [Job.ID: JobPace]
    /// This node's lease had run out before it was extended: its jobs may be another's now.
    package let leaseWasLost: Bool
    /// There are sessions or groups that end, or whose client is owed word of it.
    package let hasUnsettledEnds: Bool
    /// There are schedules whose time comes before the next look.
    package let hasSchedules: Bool
    /// Discretionary jobs wait for a quiet time.
    package let hasDiscretionaryJobs: Bool
    /// After how long the lease of another node runs out, unless that extends it; nil when there is no other.
    package let nextLoss: Duration?
    package let failures: [UpkeepFailure]
    /// How many nodes run jobs, this one among them.
    package let nodes: Int

    package init(
        hasQueuedJobs: Bool,
        hasJobsToPromote: Bool,
        hasGatedJobs: Bool = false,
        hasSuspects: Bool = false,
        hasDueDeliveries: Bool,
        cancelled: [Job.ID],
        keepingPartial: [Job.ID] = [],
        suspended: [Job.ID] = [],
        paces: [Job.ID: JobPace] = [:],
        leaseWasLost: Bool,
        hasUnsettledEnds: Bool,
        hasSchedules: Bool,
        hasDiscretionaryJobs: Bool,
        nextLoss: Duration? = nil,
        failures: [UpkeepFailure] = [],
        nodes: Int = 1
    ) {
        self.hasQueuedJobs = hasQueuedJobs
        self.hasJobsToPromote = hasJobsToPromote
        self.hasGatedJobs = hasGatedJobs
        self.hasSuspects = hasSuspects
        self.hasDueDeliveries = hasDueDeliveries
        self.cancelled = cancelled
        self.keepingPartial = keepingPartial
        self.suspended = suspended
        self.paces = paces
        self.leaseWasLost = leaseWasLost
        self.hasUnsettledEnds = hasUnsettledEnds
        self.hasSchedules = hasSchedules
        self.hasDiscretionaryJobs = hasDiscretionaryJobs
        self.nextLoss = nextLoss
        self.failures = failures
        self.nodes = nodes
    }
}

/// What a node knows of limits without asking.
package protocol KnownLimits: Sendable {
    /// How much of the slots a tenant may have beside others.
    func weight(of tenant: Tenant.ID) -> Int

    /// How many jobs of a host run at once on all nodes while others wait at its gate; nil while none does.
    func crowd(of host: Lane.Address) -> Int?
}

/// Where the worker of this process takes jobs in while they are being stored, which saves claiming them.
package protocol Intake: Sendable {
    /// Sets slots aside for jobs about to be stored; not where jobs wait that go first.
    ///
    /// - Returns: For which of them.
    func reserve(_ jobs: [NewJob]) -> [Bool]

    /// Starts jobs that were stored as claimed by this node, in slots that were reserved.
    func start(_ jobs: [ClaimedJob])

    /// Gives the reserved slots of these jobs back.
    func release(_ jobs: [NewJob])

    /// Gives reserved slots back of jobs that may have been stored or not: nobody can tell.
    func giveUp(_ jobs: [NewJob])

    /// Jobs wait for any node.
    func wake()

    /// Jobs of these tenants were stored that wait for any node.
    func wake(for tenants: Set<Tenant.ID>)

    /// A job was stored whose time comes after this one.
    func wake(after wait: Duration)

    /// Jobs may pass the gates of these lanes; nil for any lane.
    func admit(_ lanes: [Lane.Address]?)

    /// Holds jobs that run here, or lets them go on.
    func setSuspended(_ ids: [Job.ID], _ isSuspended: Bool)

    /// Has a job go on at another pace if it runs here.
    func setPace(_ pace: JobPace, of id: Job.ID)

    /// Stops a job if it runs here.
    func cancel(_ id: Job.ID, _ manner: Cancellation)
}

/// A process that runs jobs.
package enum Node {
    package enum Kind: IdentifierKind {
        package static let prefix = "nod"
    }

    /// New at each start.
    package typealias ID = Identifier<Kind>
}
