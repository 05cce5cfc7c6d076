package import FetchJobs
package import FetchRuntime
package import Logging
package import Postgres
import ServiceLifecycle

/// Hands every entry of the audit log to a sink, once it has its place: at least once, and each chain in order.
///
/// One node at a time does it, which stores how far it has got after each batch. While the sink fails, this node pauses
/// ever longer, up to a minute, and another one may try.
package actor AuditFollower: Service {
    static let interval = Duration.seconds(1)
    /// A third of the lease, so that one that is late does not lose it.
    static let renewal = AuditPositions.lease / 3
    /// How many batches are handed over once the node stops; the rest is another node's, or the next start's.
    static let lastBatches = 20

    private let sink: any AuditSink
    private let positions: AuditPositions
    private let backlog: Gauge
    private let failures: Counter
    private let logger: Logger
    private var backoff = Backoff(initial: .seconds(1), maximum: .seconds(60))
    private var renewsAt: ContinuousClock.Instant?
    private var last: Tenant.ID?
    private var lost: Int64 = 0
    /// Why the sink has not taken the last batch, while that is so.
    package private(set) var fault: String?

    package init(sink: any AuditSink, client: Client, node: Node.ID, metrics: MetricsRegistry, logger: Logger) {
        self.sink = sink
        positions = AuditPositions(sink: sink.name, node: node, client: client)
        backlog = metrics.gauge(.auditSinkBacklog)[sink.kind.rawValue]
        failures = metrics.counter(.auditSinkFailures)[sink.kind.rawValue]
        self.logger = logger
    }

    /// What people are told who ask whether the node is ready; nil when there is nothing to tell.
    package var remark: String? {
        fault == nil ? nil : "Entries of the audit log wait, because its \(sink.kind.rawValue) cannot be written."
    }

    package func run() async throws {
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            let pause = await follow()
            await cancelWhenGracefulShutdown { try? await Task.sleep(for: pause) }
        }
        // What stops after this has nothing more to tell, and the log has given the last entries their places.
        _ = await follow()
        do { try await positions.release() } catch { logger.info("a lease is left to end", metadata: at(error)) }
    }

    /// Hands over what the sink lacks, when that is this node's to do.
    ///
    /// - Returns: How long to wait until the next time.
    package func follow() async -> Duration {
        do {
            var batches = 0
            while case let turn = try await turn(), turn != .others {
                let entries = turn == .nothing ? [] : try await positions.entries(after: last)
                guard !entries.isEmpty else {
                    fault = nil
                    backlog.set(0)
                    // An idle service asks the database for little.
                    return batches > 0 ? Self.interval : Self.renewal
                }
                try await hand(over: entries)
                batches += 1
                if Task.isShuttingDownGracefully, batches >= Self.lastBatches { break }
            }
            // Another node writes to it; or this one stops.
            fault = nil
            return Self.renewal
        } catch let failure as AuditSinkFailure {
            fault = failure.description
            failures.add()
            logger.error("the audit log is not written to its sink", metadata: at(failure))
            renewsAt = nil
            do { try await positions.release() } catch { logger.info("a lease is left to end", metadata: at(error)) }
        } catch {
            logger.warning("the audit log is not read for its sink", metadata: at(error))
        }
        return backoff.next()
    }

    private func hand(over entries: [AuditEntry]) async throws {
        try await sink.write(entries)
        fault = nil
        backoff.reset()
        try await positions.advance(past: entries)
        last = entries.last?.chain
    }

    private enum Turn {
        /// Another node writes to the sink.
        case others
        /// This one does, and there is nothing to write.
        case nothing
        /// This one does, and there may be something.
        case own
    }

    /// Whose turn it is to write to the sink; asks the database now and then.
    private func turn() async throws -> Turn {
        if let renewsAt, ContinuousClock.now < renewsAt { return .own }
        let counts = try await positions.backlog()
        backlog.set(Int(counts.waiting))
        if counts.lost > lost {
            logger.error(
                "retention has removed entries of the audit log before its sink had them",
                metadata: ["audit.sink": "\(sink.name)", "entries.count": "\(counts.lost - lost)"])
        }
        lost = counts.lost
        let isMine = try await positions.claim()
        renewsAt = isMine ? .now + Self.renewal : nil
        guard isMine else { return .others }
        return counts.waiting > 0 ? .own : .nothing
    }

    private func at(_ error: any Error) -> Logger.Metadata { ["audit.sink": "\(sink.name)", "error": "\(error)"] }
}
