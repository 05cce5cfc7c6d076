import EventLoop
import FetchJobs
import FetchRuntime

extension EventLoop {
    /// Counts the turns that were so long that what else there was to do had to wait.
    ///
    /// By two clocks: `elapsed` is how long the others waited, `worked` how long the loop's thread worked meanwhile.
    func observeStalls(in metrics: MetricsRegistry) {
        let family = metrics.histogram(
            "fetchd_event_loop_stall_seconds",
            "Turns of an event loop of 5 ms and more: how long others had to wait, and how long its thread worked.",
            bounds: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10], labels: "loop", "clock")
        let (elapsed, worked) = (family[name, "elapsed"], family[name, "worked"])
        observeStalls { stall in
            elapsed.observe(stall.elapsed)
            worked.observe(stall.worked)
        }
    }
}
