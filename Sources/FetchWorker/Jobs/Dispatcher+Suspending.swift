package import FetchJobs

// Jobs that their clients hold: they keep their connections, but neither their slots nor their places in lines.

extension Dispatcher {
    package func setSuspended(_ ids: [Job.ID], _ isSuspended: Bool) {
        use(running.setSuspended(ids, isSuspended))
    }

    /// Holds exactly these jobs, as the database has said.
    ///
    /// - Parameter time: When it was not yet asked.
    func setSuspended(_ ids: [Job.ID], asOf time: ContinuousClock.Instant) async {
        guard let lent = running.setSuspended(only: Set(ids), asOf: time) else { return await pulse() }
        use(lent)
    }

    private func use(_ lent: Slots.Lent) {
        if lent.hasWaiting { claims.send() }
        let crowded = lent.lanes.filter { queue.crowd(of: $0) != nil }
        if !crowded.isEmpty { admit(Array(crowded)) }
    }
}
