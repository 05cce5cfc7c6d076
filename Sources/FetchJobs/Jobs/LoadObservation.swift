package import FetchEngine

/// What an attempt has done on the network, for the metrics of its node; it is not stored.
///
/// An object, so that outcomes stay small.
package final class LoadObservation: Sendable {
    package let transactions: [TransactionMetrics]
    /// What the cache said of the response; nil when there was none.
    package let cacheStatus: CacheStatus?
    package let cookies: [CookieVerdict]
    package let redirectCount: Int
    package let challengeCount: Int

    /// - Parameter metrics: Those of the task.
    package init(of task: SessionTask, _ metrics: TaskMetrics) {
        transactions = metrics.transactions
        cacheStatus = task.response?.cacheStatus
        cookies = task.cookieVerdicts
        redirectCount = task.redirects.count
        challengeCount = task.challenges.count
    }

    package init(
        transactions: [TransactionMetrics], cacheStatus: CacheStatus? = nil, cookies: [CookieVerdict] = [],
        redirectCount: Int = 0, challengeCount: Int = 0
    ) {
        self.transactions = transactions
        self.cacheStatus = cacheStatus
        self.cookies = cookies
        self.redirectCount = redirectCount
        self.challengeCount = challengeCount
    }
}
