import FetchJobs

/// A page of a list of hosts, or of flows.
struct LimiterListPage {
    struct Row {
        let name: String
        /// The name as forms send it back: a key may have characters that pages do not show.
        let id: String
        /// Whether its jobs are started, as one word.
        let condition: String
        let style: String
        /// The signal of its origin, until when its jobs wait for it, and the time until then.
        let reason: String?
        let until: String?
        let left: String?
        /// The failed job that holds up the others.
        let blockedBy: String?
        let waiting: Int64
        let running: Int64
        let limits: String
        /// The action of its button.
        let action: String
        let button: String
    }

    let frame: PageFrame
    let path: String
    /// The names of its lines.
    let heading: String
    let hint: String
    let limiters: [Row]
    let isEmpty: Bool
    let next: String?
    /// Whether the visitor may pause and resume.
    let mayPause: Bool

    init(
        _ limiters: [Limiter], of kind: Limiter.Kind, next: LimiterCursor?, mayPause: Bool, frame: PageFrame,
        now: Timestamp
    ) {
        self.frame = frame
        self.mayPause = mayPause
        path = Self.path(kind)
        heading = kind == .host ? "Host" : "Flow"
        hint =
            kind == .host
            ? "Hosts for which something is set, or that have asked for patience." : "Flows for which something is set."
        self.limiters = limiters.map { Row($0, now: now) }
        isEmpty = limiters.isEmpty
        self.next = next.map { "\(Self.path(kind))?cursor=\($0.text)" }
    }

    static func path(_ kind: Limiter.Kind) -> String { kind == .host ? "/dashboard/hosts" : "/dashboard/flows" }

    static func title(_ kind: Limiter.Kind) -> String { kind == .host ? "Hosts" : "Flows" }
}

extension LimiterListPage.Row {
    fileprivate init(_ limiter: Limiter, now: Timestamp) {
        name = limiter.address.key
        id = LimiterCursor(after: limiter).text
        waiting = limiter.waiting
        running = limiter.running
        limits = Self.text(limiter.limits)
        blockedBy = limiter.blockedBy?.description
        (condition, style) = Self.condition(limiter)
        reason = limiter.openCircuit?.reason
        until = limiter.openCircuit?.until.description
        left = limiter.circuit == .open ? limiter.openCircuit.map { Age.text(since: now, now: $0.until) } : nil
        let isHeld = limiter.isPaused || limiter.openCircuit != nil
        action = isHeld ? "resume" : "pause"
        button = isHeld ? "Resume" : "Pause"
    }

    private static func condition(_ limiter: Limiter) -> (String, String) {
        if limiter.isPaused { return ("paused", "suspended") }
        switch limiter.circuit {
        case .open: return ("circuit open", "scheduled")
        case .halfOpen: return ("tried, few at a time", "scheduled")
        case .closed: return limiter.blockedBy == nil ? ("open", "succeeded") : ("held up", "failed")
        }
    }

    private static func text(_ limits: SharedLimits) -> String {
        var parts: [String] = []
        if let parallelism = limits.parallelism { parts.append("\(parallelism) at once") }
        if limits.order == .fifo { parts.append("in order") }
        if limits.onFailure == .block { parts.append("a failure blocks") }
        if let rate = limits.rate {
            let seconds = rate.period.seconds
            parts.append("\(rate.jobs) in \(Int64(exactly: seconds).map { "\($0)" } ?? "\(seconds)") s")
        }
        if let speed = limits.maximumBytesPerSecond { parts.append("\(speed) bytes/s") }
        return parts.isEmpty ? "none" : parts.joined(separator: ", ")
    }
}
