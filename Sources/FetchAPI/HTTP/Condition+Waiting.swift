import FetchRuntime
import NIOCore
import NIOPosix
import ServiceLifecycle

extension Condition {
    /// How often a wait looks without a signal: other nodes change the store and signal nothing here.
    private static let pollInterval = Duration.seconds(1)

    /// Looks for something at each signal, and every second without one, until it is there.
    ///
    /// Ends without it at the deadline, when the client leaves, when the service stops, or when the caller is cancelled.
    ///
    /// - Parameters:
    ///   - client: The connection of the client for which this waits; nil where there is no network.
    ///   - isThere: Looks; not called before the first signal or second, so that a caller can look by itself first.
    func wait(
        until deadline: ContinuousClock.Instant, for client: Connection?, _ isThere: () async throws -> Bool
    ) async rethrows {
        let leaving = client?.onLeave { self.signal() }
        defer { if let leaving { client?.forget(leaving) } }
        let loop = client?.channel.eventLoop ?? MultiThreadedEventLoopGroup.singleton.any()
        while client?.hasLeft != true, !Task.isCancelled, !Task.isShuttingDownGracefully {
            let rest = deadline - .now
            guard rest > .zero else { return }
            await pause(for: min(rest, Self.pollInterval), on: loop)
            if try await isThere() { return }
        }
    }

    /// Returns at a signal, when the time is up, or when the service stops.
    ///
    /// The loop has the timer: a child task that sleeps would have to end on a thread of the pool before this could return.
    private func pause(for time: Duration, on loop: any EventLoop) async {
        let timer = loop.scheduleTask(in: TimeAmount(time)) { self.signal() }
        await withGracefulShutdownHandler {
            await next()
        } onGracefulShutdown: {
            self.signal()
        }
        timer.cancel()
    }
}
