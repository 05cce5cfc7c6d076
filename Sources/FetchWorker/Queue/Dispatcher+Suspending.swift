import FetchJobs
import FetchRuntime

// Jobs that their clients hold: they keep their connections, but neither their slots nor their places in origin queues.

extension Dispatcher {
    /// Holds exactly these jobs, as the database has said.
    ///
    /// - Parameter time: When it was not yet asked.
    func setSuspended(_ ids: [Job.ID], asOf time: ContinuousClock.Instant) {
        if let lent = running.setSuspended(only: Set(ids), asOf: time) {
            intake.use(lent)
        } else {
            // A client has said something meanwhile. The next look knows of it; nothing else waits for that, however
            // often clients do so.
            intake.look()
        }
    }
}
