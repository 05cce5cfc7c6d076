import FetchRuntime
import ServiceLifecycle

/// Tells how long tasks wait for one of the few threads that run all of those that have no loop.
///
/// One of them that only sleeps is late by as much as they all are.
struct TaskThreadWatch: Service {
    static let name = "tasks"
    private static let interval = Duration.milliseconds(100)

    let stalls: StallMetrics

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var due = ContinuousClock.now + Self.interval
            while (try? await Task.sleep(until: due, tolerance: .zero)) != nil {
                let late = ContinuousClock.now - due
                if late >= StallMetrics.threshold { stalls.observe(Self.name, elapsed: late, worked: nil) }
                due = .now + Self.interval
            }
        }
    }
}
