package import FetchJobs

// Jobs that their clients hold: they keep their connections, but not their places.

extension Dispatcher {
    package func setSuspended(_ ids: [Job.ID], _ isSuspended: Bool) { free(-running.setSuspended(ids, isSuspended)) }

    /// Holds exactly these jobs, as the database has said.
    ///
    /// - Parameter time: When it was not yet asked.
    func setSuspended(_ ids: [Job.ID], asOf time: ContinuousClock.Instant) async {
        if let more = running.setSuspended(only: Set(ids), asOf: time) { free(-more) } else { await pulse() }
    }

    /// Gives places back; takes them when there are fewer, even if none is free.
    private func free(_ count: Int) {
        guard count != 0 else { return }
        places.leave(count)
        if count > 0 { claims.send() }
    }
}
