import DequeModule
package import FetchJobs
import Synchronization

/// Takes the spans of this process, for whoever exports them.
///
/// Nobody waits here: when there is no room, a span is dropped and counted.
package final class Tracer: Sendable {
    package struct Configuration: Sendable {
        package var sampler: TraceSampler
        /// The share of traces that are recorded, from 0 to 1, where the sampler goes by it.
        package var ratio: Double
        /// How many spans wait to be exported at most.
        package var capacity = 4096
        /// How many are exported together.
        package var batch = 512

        package init(sampler: TraceSampler = .parentBasedAlwaysOn, ratio: Double = 1) {
            self.sampler = sampler
            self.ratio = ratio
        }
    }

    package let configuration: Configuration
    /// Is signalled when there is a batch.
    package let isDue = Condition()
    private let dropped: Counter
    private let waiting = Mutex<Deque<Span>>([])

    /// - Parameter metrics: Where dropped spans are counted.
    package init(configuration: Configuration = Configuration(), metrics: MetricsRegistry = MetricsRegistry()) {
        self.configuration = configuration
        dropped = metrics.counter(.traceSpans)["dropped"]
    }

    /// The place of a request in its trace, or that of the first span of a new one.
    ///
    /// - Parameter parent: Who has asked; nil when they are in no trace.
    /// - Returns: nil when there is no trace. A span of the context is to be recorded when it is sampled; otherwise it is
    ///   the parent's place still, or says that the lot of a new trace has been drawn, so that nobody draws again.
    package func context(below parent: TraceContext?) -> TraceContext? {
        let trace = parent?.trace ?? TraceID()
        if configuration.sampler.takes(trace, parent: parent, ratio: configuration.ratio) {
            return TraceContext(trace: trace, span: SpanID(), isSampled: true, state: parent?.state)
        }
        guard let parent else {
            return configuration.sampler.drawsLots ? TraceContext(trace: trace, span: SpanID(), isSampled: false) : nil
        }
        return TraceContext(trace: trace, span: parent.span, isSampled: false, state: parent.state)
    }

    /// The trace that a job begins itself which was submitted in none: its own span is the first one.
    ///
    /// - Returns: The place of that span, the same on all nodes; nil when the trace is not recorded.
    package func root(of job: Job.ID) -> TraceContext? {
        let trace = TraceID(of: job)
        guard configuration.sampler.takes(trace, parent: nil, ratio: configuration.ratio) else { return nil }
        return TraceContext(trace: trace, span: SpanID(of: job), isSampled: true)
    }

    /// Takes a span that is over; one that is not sampled is not taken.
    package func record(_ span: Span) {
        guard span.context.isSampled else { return }
        let count = waiting.withLock { waiting -> Int? in
            guard waiting.count < configuration.capacity else { return nil }
            waiting.append(span)
            return waiting.count
        }
        guard let count else { return dropped.add() }
        if count.isMultiple(of: configuration.batch) { isDue.signal() }
    }

    /// The spans that have waited longest, one batch at most.
    package func take() -> [Span] {
        waiting.withLock { waiting in
            let batch = Array(waiting.prefix(configuration.batch))
            waiting.removeFirst(batch.count)
            return batch
        }
    }
}
