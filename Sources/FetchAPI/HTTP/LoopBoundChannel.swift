import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

/// Answers the requests of a connection on the thread that reads and writes it.
///
/// Elsewhere, each request would wake a thread to be answered and then the connection's again.
struct LoopBoundChannel: ServerChildChannel {
    let base: HTTP1Channel

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            try HTTP10Handler.add(to: channel.pipeline.syncOperations)
            return value
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await withTaskExecutorPreference(LoopExecutor(value.channel.eventLoop)) {
            let guarding = try? value.channel.pipeline.syncOperations.handler(type: ConnectionGuard.self)
            await Connection.$current.withValue(guarding?.connection) {
                await base.handle(value: value, logger: logger)
            }
        }
    }
}

/// Runs tasks on an event loop, which NIO itself has for actors only.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
