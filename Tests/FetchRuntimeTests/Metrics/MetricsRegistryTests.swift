import FetchJobs
import FetchRuntime
import Testing

@Suite struct MetricsRegistryTests {
    @Test func `counts, values and sizes are written in the text format`() {
        let registry = MetricsRegistry()
        registry.counter(.jobsFinished)["x\"\\\n"].add(2)
        registry.gauge(.auditSinkBacklog)["file"].set(-3)
        registry.observe(.dataDirectoryFree) { 1.5 }
        registry.observe(.dataDirectorySize) { nil }
        registry.observeAll(.queueJobs) { [MetricsRegistry.Observation(labels: ["queued"], value: 7)] }
        let histogram = registry.histogram(.httpRequestDuration)["/a"]
        for value in [0.001, 0.25, 30] { histogram.observe(value) }
        let summary = registry.summary(.databaseStatementDuration)["jobs.claim"]
        for value in [0.5, 1] { summary.observe(.seconds(value)) }
        let help = { (name: MetricName) in "# HELP \(name.rawValue) \(name.entry.help)" }
        #expect(
            registry.text == """
                \(help(.auditSinkBacklog))
                # TYPE fetchd_audit_sink_backlog gauge
                fetchd_audit_sink_backlog{sink="file"} -3
                \(help(.dataDirectoryFree))
                # TYPE fetchd_data_directory_free_bytes gauge
                fetchd_data_directory_free_bytes 1.5
                \(help(.dataDirectorySize))
                # TYPE fetchd_data_directory_size_bytes gauge
                \(help(.databaseStatementDuration))
                # TYPE fetchd_database_statement_duration_seconds summary
                fetchd_database_statement_duration_seconds_sum{statement="jobs.claim"} 1.5
                fetchd_database_statement_duration_seconds_count{statement="jobs.claim"} 2
                \(help(.httpRequestDuration))
                # TYPE fetchd_http_request_duration_seconds histogram
                fetchd_http_request_duration_seconds_bucket{route="/a",le="0.001"} 1
                fetchd_http_request_duration_seconds_bucket{route="/a",le="0.005"} 1
                fetchd_http_request_duration_seconds_bucket{route="/a",le="0.025"} 1
                fetchd_http_request_duration_seconds_bucket{route="/a",le="0.1"} 1
                fetchd_http_request_duration_seconds_bucket{route="/a",le="0.5"} 2
                fetchd_http_request_duration_seconds_bucket{route="/a",le="2.5"} 2
                fetchd_http_request_duration_seconds_bucket{route="/a",le="10"} 2
                fetchd_http_request_duration_seconds_bucket{route="/a",le="+Inf"} 3
                fetchd_http_request_duration_seconds_sum{route="/a"} 30.251
                fetchd_http_request_duration_seconds_count{route="/a"} 3
                \(help(.jobsFinished))
                # TYPE fetchd_jobs_finished_total counter
                fetchd_jobs_finished_total{state="x\\"\\\\\\n"} 2
                \(help(.queueJobs))
                # TYPE fetchd_queue_jobs gauge
                fetchd_queue_jobs{state="queued"} 7

                """
        )
    }

    @Test func `a family that is registered twice is one`() {
        let registry = MetricsRegistry()
        registry.counter(.jobsSubmitted)[].add()
        registry.counter(.jobsSubmitted)[].add()
        #expect(registry.text.contains("fetchd_jobs_submitted_total 2\n") && registry.names == [.jobsSubmitted])
    }

    @Test func `labels that are not of a closed set stay bounded`() {
        let registry = MetricsRegistry()
        let family = registry.counter(.attemptErrors)
        for number in 0..<2000 { family[String(number)].add() }
        #expect(registry.text.contains("fetchd_attempt_errors_total{error=\"other\"} 1000\n"))
    }

    // MARK: The catalogue

    @Test(arguments: MetricName.allCases)
    func `a name keeps to the conventions of Prometheus`(_ name: MetricName) {
        let (text, entry) = (name.rawValue, name.entry)
        #expect(text.wholeMatch(of: /(fetchd|process)(_[a-z]+)+/) != nil)
        #expect(text.hasSuffix("_total") == (entry.kind == .counter))
        // Base units, and none that a reader has to convert.
        #expect(!text.contains(/_(milliseconds|ms|minutes|hours|kilobytes|percent|count|sum|bucket)(_|$)/))
        #expect(name.unit != nil || entry.kind == .counter || entry.kind == .gauge)
        #expect(entry.bounds == entry.bounds.sorted())
        #expect(entry.bounds.isEmpty == (entry.kind != .histogram))
        #expect(entry.help.hasSuffix(".") && !entry.help.contains(/[\n|\\]/))
        #expect(entry.labels.allSatisfy { $0.wholeMatch(of: /[a-z]+(_[a-z]+)*/) != nil && $0 != "le" })
    }
}
