/// Counts when a loop, or another thread that everybody shares, had others wait.
///
/// By two clocks: `elapsed` is how long the others waited, `worked` how long the thread worked meanwhile.
package struct StallMetrics: Sendable {
    /// Shorter turns are not counted.
    package static let threshold = Duration.milliseconds(5)

    private let family: MetricFamily<Histogram>

    package init(_ registry: MetricsRegistry) {
        family = registry.histogram(
            "fetchd_event_loop_stall_seconds",
            "Turns of an event loop of 5 ms and more: how long others had to wait, and how long its thread worked.",
            bounds: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10], labels: "loop", "clock")
    }

    /// Reports a loop from now on, even while it never stalls.
    package func begin(_ loop: String) { _ = (family[loop, "elapsed"], family[loop, "worked"]) }

    /// - Parameter worked: Nil where no one thread is to blame.
    package func observe(_ loop: String, elapsed: Duration, worked: Duration?) {
        family[loop, "elapsed"].observe(elapsed)
        if let worked { family[loop, "worked"].observe(worked) }
    }
}
