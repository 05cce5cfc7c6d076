package import FetchEngine

/// The jobs that wait, as a node sees them that looks for work.
package protocol JobClaiming: Sendable {
    /// Claims jobs that wait for this node, up to `limit`, and of each tenant as many as there is room for.
    func claim(upTo limit: Int, room: ClaimRoom) async throws(StoreError) -> Claim

    /// How many suspects are tried together next (REL-5); nil when none waits.
    ///
    /// Nodes were lost with them so often that they may be the cause.
    func nextTrial() async throws(StoreError) -> Int?

    /// Claims suspects that are tried with so many, or fewer.
    func claimSuspects(_ count: Int) async throws(StoreError) -> [ClaimedJob]
}

/// The jobs that a node claimed.
package struct Claim: Sendable {
    package let jobs: [ClaimedJob]
    /// Nothing else waits that the node could have had.
    package let isLast: Bool
    /// The limiters whose limits keep waiting jobs from being claimed now.
    package let gated: Set<Limiter.Address>
    /// After how long to look again for jobs that came late; nil when all was looked at.
    package let nextScan: Duration?
    /// Tenants that may have more, for which there was no more room.
    package let full: Set<Tenant.ID>

    package init(
        jobs: [ClaimedJob], isLast: Bool, gated: Set<Limiter.Address> = [], nextScan: Duration? = nil,
        full: Set<Tenant.ID> = []
    ) {
        self.jobs = jobs
        self.isLast = isLast
        self.gated = gated
        self.nextScan = nextScan
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
    /// The versions of the session's stores that the job must see at least: those at its submission.
    package let stores: StoresVersion
    /// When it was stored, if the same statement claimed it; nil for a job that has waited.
    package let storedAt: Timestamp?
    /// Whether the gate of its host has let it through, so that it counts on all nodes.
    package let isCounted: Bool
    /// For how long it had been due when it was claimed; nil when it was claimed as it was stored, or had to pass a
    /// gate.
    package let waited: Duration?
    /// The question at whose position it goes on; nil when it begins at its beginning.
    package let resumesAt: Question.ID?
    /// The endpoint that is told of it: its own, that of its session, or the tenant's default one as it was stored.
    package let endpoint: WebhookEndpoint.ID?
    /// The origin queue whose connections it shares; nil when its URL has no host.
    package let originQueue: OriginQueue.Key?
    /// See ``JobSpec/bytesInMemory``.
    package let bytesInMemory: Int

    /// - Parameter originQueue: That of the job, where the caller has it.
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
        waited: Duration? = nil,
        resumesAt: Question.ID? = nil,
        endpoint: WebhookEndpoint.ID? = nil,
        originQueue: OriginQueue.Key? = nil
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
        self.resumesAt = resumesAt
        self.endpoint = endpoint ?? spec.webhook?.endpoint
        self.originQueue = originQueue ?? OriginQueue.Key(spec, of: tenant, after: tries)
        bytesInMemory = spec.bytesInMemory
    }

    /// Whether somebody may be told of it.
    package var mayHaveEvents: Bool { endpoint != nil || spec.session != nil }

    /// It was claimed before, with an unknown result: it may have been lost with its node.
    package var mayHaveBeenLost: Bool { Int(claim) > tries + 1 }

    /// What this attempt loads: the URL of the job, or one of its mirrors.
    package var url: URLRecord { spec.request.url(after: tries) }

    /// The request that this attempt sends.
    package var request: JobRequest { spec.request.attempt(after: tries) }

    /// The limiters that it is in.
    package var limiters: [Limiter.Address] { spec.limiters(of: tenant, after: tries) }

    /// The limiter of the host that it loads from; nil when its URL has none.
    package var hostLimiter: Limiter.Address? { originQueue?.limiter }

    /// The host that the next attempt loads from, where that may be another one.
    package var nextHost: String? {
        spec.request.mirrors.isEmpty ? nil : spec.request.url(after: tries + 1).hostAndPort
    }

    package var session: SessionAddress { SessionAddress(tenant: tenant, session: spec.session ?? .default) }
}
