import FetchJobs
import FetchRuntime
import Testing

/// Which traces are recorded, and how many spans wait.
@Suite struct TracerTests {
    private func parent(sampled: Bool) throws -> TraceContext {
        let text = "00-12345678901234567890123456789012-1234567890123456-0\(sampled ? 1 : 0)"
        return try #require(TraceContext(parent: text, states: ["a=1"]))
    }

    @Test(
        arguments: [
            (.alwaysOn, true, true, true), (.alwaysOff, false, false, false),
            (.traceIDRatio, false, false, false), (.parentBasedAlwaysOn, true, true, false),
            (.parentBasedAlwaysOff, false, true, false), (.parentBasedTraceIDRatio, false, true, false),
        ] as [(TraceSampler, Bool, Bool, Bool)])
    func `a sampler decides for new traces, and those that go by the parent heed it`(
        _ sampler: TraceSampler, _ new: Bool, _ below: Bool, _ belowUnsampled: Bool
    ) throws {
        let tracer = Tracer(configuration: .init(sampler: sampler, ratio: 0))
        // Nobody draws again whether a trace is recorded of which that was decided by lot.
        #expect(tracer.context(below: nil)?.isSampled == (new ? true : sampler.drawsLots ? false : nil))
        for (isSampled, expected) in [(true, below), (false, belowUnsampled)] {
            let parent = try parent(sampled: isSampled)
            let context = try #require(tracer.context(below: parent))
            #expect(context.isSampled == expected)
            #expect(context.trace == parent.trace && context.state == parent.state)
            // A span that nobody records is nobody's parent.
            #expect((context.span == parent.span) == !expected)
        }
    }

    @Test func `a share of traces is taken by their ids, the same by every node`() throws {
        let traces = (0..<4000).map { _ in TraceID() }
        let taken = traces.filter { TraceSampler.traceIDRatio.takes($0, parent: nil, ratio: 0.25) }
        #expect((800...1200).contains(taken.count))
        #expect(taken.allSatisfy { TraceSampler.parentBasedTraceIDRatio.takes($0, parent: nil, ratio: 0.3) })
        #expect(traces.allSatisfy { TraceSampler.traceIDRatio.takes($0, parent: nil, ratio: 1) })
        #expect(!traces.contains { TraceSampler.traceIDRatio.takes($0, parent: nil, ratio: 0) })
        // As other programs have it: by the lower half of the id, without its last bit.
        let low = try #require(TraceID(high: .max, low: 0x3FFF_FFFF_FFFF_0000))
        let high = try #require(TraceID(high: 0, low: 0x4000_0000_0000_0000))
        #expect(TraceSampler.traceIDRatio.takes(low, parent: nil, ratio: 0.25))
        #expect(!TraceSampler.traceIDRatio.takes(high, parent: nil, ratio: 0.25))
    }

    @Test func `a job that begins its own trace has the same one on all nodes, by the sampler`() throws {
        let jobs = (0..<4000).map { _ in Job.ID() }
        let tracer = Tracer(configuration: .init(sampler: .parentBasedTraceIDRatio, ratio: 0.25))
        let roots = jobs.compactMap { tracer.root(of: $0) }
        #expect((800...1200).contains(roots.count))
        #expect(Set(roots.map(\.trace)).count == roots.count && roots.allSatisfy(\.isSampled))
        #expect(Set(roots.map(\.span)).isSubset(of: jobs.map { SpanID(of: $0) }))
        #expect(Tracer().root(of: jobs[0]) == Tracer().root(of: jobs[0]))
        #expect(Tracer(configuration: .init(sampler: .parentBasedAlwaysOff)).root(of: jobs[0]) == nil)
    }

    @Test func `when many spans wait, further ones are dropped and counted`() throws {
        let registry = MetricsRegistry()
        var configuration = Tracer.Configuration()
        (configuration.capacity, configuration.batch) = (5, 3)
        let tracer = Tracer(configuration: configuration, metrics: registry)
        let context = try #require(tracer.context(below: nil))
        for number in 0..<7 {
            tracer.record(Span("\(number)", .internal, context, parent: nil, from: .now, to: .now))
        }
        tracer.record(Span("unsampled", .internal, try parent(sampled: false), parent: nil, from: .now, to: .now))
        #expect(tracer.take().map(\.name) == ["0", "1", "2"])
        #expect(tracer.take().map(\.name) == ["3", "4"])
        #expect(tracer.take().isEmpty)
        #expect(registry.text.contains(#"fetchd_trace_spans_total{outcome="dropped"} 2"#))
    }

    @Test func `a span that a clock ended before it began has no length`() throws {
        let context = try #require(Tracer().context(below: nil))
        let start = Timestamp.now
        let span = Span("a", .internal, context, parent: nil, from: start, to: start.advanced(by: .seconds(-1)))
        #expect(span.end == start)
    }
}
