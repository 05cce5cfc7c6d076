/// How one attempt to deliver ended, and whether another one follows.
package enum DeliveryVerdict: Sendable, Equatable {
    case delivered
    /// Try again after this much time.
    case again(after: Duration)
    /// No attempt is left, or the receiver wants none.
    case abandoned

    /// The waits after each failed attempt: 9 retries over 75 hours (SEC-36 asks for at least 8 over 72).
    package static let schedule: [Duration] = [
        .seconds(5), .seconds(300), .seconds(1800), .seconds(2 * 3600), .seconds(5 * 3600), .seconds(10 * 3600),
        .seconds(14 * 3600), .seconds(20 * 3600), .seconds(24 * 3600),
    ]

    /// The meaning of a receiver's response, or of none, for a delivery.
    ///
    /// - Parameters:
    ///   - status: The HTTP status, or nil when there was no answer. A redirect is not followed and counts as a
    //failure.
    ///   - failures: How many attempts failed before this one.
    ///   - jitter: From 0 to 1; spreads retries that failed together over a tenth of their wait.
    package init(status: Int?, failures: Int, jitter: Double) {
        switch status {
        case .some(200..<300): self = .delivered
        // 410 Gone: the receiver asks for no more.
        case 410: self = .abandoned
        default:
            guard failures < Self.schedule.count else {
                self = .abandoned
                return
            }
            self = .again(after: Self.schedule[failures] * (1 + jitter / 10))
        }
    }
}
