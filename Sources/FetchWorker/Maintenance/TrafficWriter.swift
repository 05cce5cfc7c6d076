import FetchJobs
package import FetchRuntime
package import Logging
import ServiceLifecycle

/// Has what jobs moved written now and then, and at the stop.
package struct TrafficWriter: Service {
    private let meter: TrafficMeter
    private let logger: Logger

    package init(meter: TrafficMeter, logger: Logger) {
        self.meter = meter
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                // Cancelled at shutdown: what was counted is written below.
                try? await Task.sleep(for: TrafficMeter.interval)
                await write()
            }
        }
        await write()
    }

    private func write() async {
        do throws(StoreError) { try await meter.write() } catch {
            logger.warning("traffic was not written", metadata: ["error": "\(error)"])
        }
    }
}
