import FetchJobs
import FetchRuntime
import Testing

@Suite struct MetricsRegistryTests {
    @Test func `counts, values and sizes are written in the text format`() {
        let registry = MetricsRegistry()
        registry.counter("a_total", "Counts.", labels: "state")["x\"\\\n"].add(2)
        registry.gauge("b", "A value.")[].set(-3)
        registry.gauge("c_bytes", "Read.") { 1.5 }
        let histogram = registry.histogram("d_seconds", "Sizes.", bounds: [0.5, 2])[]
        for value in [0.5, 1, 3] { histogram.observe(value) }
        #expect(
            registry.text == """
                # HELP a_total Counts.
                # TYPE a_total counter
                a_total{state="x\\"\\\\\\n"} 2
                # HELP b A value.
                # TYPE b gauge
                b -3
                # HELP c_bytes Read.
                # TYPE c_bytes gauge
                c_bytes 1.5
                # HELP d_seconds Sizes.
                # TYPE d_seconds histogram
                d_seconds_bucket{le="0.5"} 1
                d_seconds_bucket{le="2"} 2
                d_seconds_bucket{le="+Inf"} 3
                d_seconds_sum 4.5
                d_seconds_count 3

                """
        )
    }

    @Test func `a family that is registered twice is one`() {
        let registry = MetricsRegistry()
        registry.counter("a_total", "Counts.")[].add()
        registry.counter("a_total", "Counts.")[].add()
        #expect(registry.text.contains("a_total 2\n"))
    }

    @Test func `labels that are not of a closed set stay bounded`() {
        let registry = MetricsRegistry()
        let family = registry.counter("a_total", "Counts.", labels: "who")
        for number in 0..<2000 { family[String(number)].add() }
        #expect(registry.text.contains("a_total{who=\"other\"} 1000\n"))
    }
}
