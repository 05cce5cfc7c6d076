/// Takes jobs into the worker of this process while they are being stored, which saves claiming them.
package protocol Intake: Sendable {
    /// Sets slots aside for jobs about to be stored; not where jobs wait that go first.
    ///
    /// - Returns: For which of them.
    func reserve(_ jobs: [NewJob]) -> [Bool]

    /// Starts jobs that were stored as claimed by this node, in slots that were reserved.
    func start(_ jobs: [ClaimedJob])

    /// Gives the reserved slots of these jobs back.
    func release(_ jobs: [NewJob])

    /// Gives back reserved slots of jobs of which it is unknown whether they were stored.
    func giveUp(_ jobs: [NewJob])

    /// Jobs wait for any node.
    func wake()

    /// Jobs of these tenants were stored that wait for any node.
    func wake(for tenants: Set<Tenant.ID>)

    /// A job was stored whose time comes after this one.
    func wake(after wait: Duration)

    /// Jobs may pass the gates of these limiters; nil for any limiter.
    func admit(_ limiters: [Limiter.Address]?)

    /// Holds jobs that run here, or lets them go on.
    func setSuspended(_ ids: [Job.ID], _ isSuspended: Bool)

    /// Has a job go on at another pace if it runs here.
    func setPace(_ pace: JobPace, of id: Job.ID)

    /// Stops a job if it runs here.
    func cancel(_ id: Job.ID, _ manner: Cancellation)
}
