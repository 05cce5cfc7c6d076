import FetchEngine

/// What a tenant has of the service now, beside what it may have.
package struct TenantUsage: Sendable, Equatable {
    /// Up to how many of a kind are counted.
    package static let countLimit = 100_000

    package var waitingJobs: Int64 = 0
    package var runningJobs: Int64 = 0
    package var sessions: Int64 = 0
    package var openQuestions: Int64 = 0
    /// Of blobs, and of bodies that are kept with jobs.
    package var storedBytes: Int64 = 0
    /// On the present day of UTC, as far as it is written down.
    package var traffic = Traffic()
    /// When the day ends.
    package var dayEnd: Timestamp

    package init(dayEnd: Timestamp) { self.dayEnd = dayEnd }

    /// - Parameter limits: All limits of the tenant.
    package func write(_ writer: inout JSONWriter, within limits: TenantLimits) {
        writer.member("requestsPerSecond", object: { $0.member("maximum", limits[.maximumRequestsPerSecond]) })
        let counts: [(String, Int64, TenantLimit)] = [
            ("waitingJobs", waitingJobs, .maximumWaitingJobs), ("runningJobs", runningJobs, .maximumRunningJobs),
            ("sessions", sessions, .maximumSessions), ("openQuestions", openQuestions, .maximumOpenQuestions),
            ("storedBytes", storedBytes, .maximumStoredBytes),
        ]
        for (name, count, limit) in counts {
            writer.member(
                name,
                object: { writer in
                    writer.member("count", count)
                    writer.member("maximum", limits[limit])
                })
        }
        writer.member(
            "bytesOfDay",
            object: { writer in
                writer.member("count", traffic.bytes)
                writer.member("maximum", limits[.maximumBytesPerDay])
                writer.member("sent", traffic.sentBytes)
                writer.member("received", traffic.receivedBytes)
                writer.member("resetsAt", dayEnd.description)
            })
        writer.member("bytesPerSecond", object: { $0.member("maximum", limits[.maximumBytesPerSecond]) })
    }
}
