package import FetchJobs

// Jobs that their clients hold: they keep their connections, but not their places.

extension Dispatcher {
    package func setSuspended(_ ids: [Job.ID], _ isSuspended: Bool) { lend(running.setSuspended(ids, isSuspended)) }

    /// Holds exactly these jobs, as the database has said.
    ///
    /// - Parameter time: When it was not yet asked.
    func setSuspended(_ ids: [Job.ID], asOf time: ContinuousClock.Instant) async {
        if let more = running.setSuspended(only: Set(ids), asOf: time) { lend(more) } else { await pulse() }
    }

    /// Takes slots for jobs that go on, even if none is free; gives those of others back.
    private func lend(_ more: [Tenant.ID: Int]) {
        if !more.isEmpty, slots.lend(more.mapValues { -$0 }) { claims.send() }
    }
}
