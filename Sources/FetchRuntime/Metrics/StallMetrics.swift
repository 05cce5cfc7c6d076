/// Counts when a loop, or another thread that everybody shares, had others wait.
///
/// By two clocks: `elapsed` is how long the others waited, `worked` how long the thread worked meanwhile.
package struct StallMetrics: Sendable {
    /// Shorter turns are not counted.
    package static let threshold = Duration.milliseconds(5)

    private let family: MetricFamily<Histogram>

    package init(_ registry: MetricsRegistry) {
        family = registry.histogram(.eventLoopStall)
    }

    /// Reports a loop from now on, even while it never stalls.
    package func begin(_ loop: String) { _ = (family[loop, "elapsed"], family[loop, "worked"]) }

    /// - Parameter worked: Nil where no one thread is to blame.
    package func observe(_ loop: String, elapsed: Duration, worked: Duration?) {
        family[loop, "elapsed"].observe(elapsed)
        if let worked { family[loop, "worked"].observe(worked) }
    }
}
