package import FetchEngine

/// What an attempt has done on the network, for the metrics of its node; it is not stored.
///
/// An object, so that outcomes stay small.
package final class LoadObservation: Sendable {
    package let transactions: [TransactionMetrics]
    /// What the cache said of the response; nil when there was none.
    package let cacheStatus: CacheStatus?
    package let cookies: [CookieVerdict]
    package let redirects: [Redirect]
    package let challengeCount: Int
    /// The start of the task, from which its transactions count.
    package let startedAt: Timestamp

    /// - Parameters:
    ///   - metrics: Those of the task.
    ///   - startedAt: Its start, that before it was parked where it was.
    package init(of task: SessionTask, _ metrics: TaskMetrics, startedAt: Timestamp) {
        transactions = metrics.transactions
        cacheStatus = task.response?.cacheStatus
        cookies = task.cookieVerdicts
        redirects = task.redirects
        challengeCount = task.challenges.count
        self.startedAt = startedAt
    }

    package init(
        transactions: [TransactionMetrics], cacheStatus: CacheStatus? = nil, cookies: [CookieVerdict] = [],
        redirects: [Redirect] = [], challengeCount: Int = 0, startedAt: Timestamp = .now
    ) {
        self.transactions = transactions
        self.cacheStatus = cacheStatus
        self.cookies = cookies
        self.redirects = redirects
        self.challengeCount = challengeCount
        self.startedAt = startedAt
    }
}
