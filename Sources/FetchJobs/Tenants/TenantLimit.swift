import FetchEngine

/// A limit of what a tenant may have of the service.
///
/// The settings of the nodes say what holds for all tenants, and operators say what holds for one instead
/// (``TenantChange``). The raw value is its name in the API; settings and options are made of the same words.
package enum TenantLimit: String, Sendable, CaseIterable {
    /// Requests to one node in a second; twice as many may come at once.
    case maximumRequestsPerSecond
    /// Jobs that wait.
    case maximumWaitingJobs
    /// Jobs that run at once. Nodes divide it, each rounds up.
    case maximumRunningJobs
    /// Bytes of bodies that jobs move in a second, in each direction. Nodes divide it.
    case maximumBytesPerSecond
    /// Bytes that jobs send and receive in a day of UTC.
    case maximumBytesPerDay
    /// Bytes of what clients have uploaded, of the files of downloads, and of bodies that are kept with jobs.
    case maximumStoredBytes
    /// Sessions that were made and have not ended.
    case maximumSessions
    /// Questions that wait for an answer.
    case maximumOpenQuestions

    /// The values that it may have.
    package var range: ClosedRange<Int64> {
        switch self {
        case .maximumRequestsPerSecond: 1...1_000_000
        case .maximumWaitingJobs, .maximumRunningJobs, .maximumSessions, .maximumOpenQuestions: 1...1_000_000_000
        case .maximumBytesPerSecond: Bandwidth.settable
        case .maximumBytesPerDay, .maximumStoredBytes: 1...1 << 50
        }
    }
}

/// The limits that are set, with their values.
package typealias TenantLimits = [TenantLimit: Int64]

extension TenantLimits {
    /// Writes those that are set, each as a member.
    package func write(_ writer: inout JSONWriter) {
        for limit in TenantLimit.allCases { writer.member(limit.rawValue, self[limit]) }
    }
}
