/// Every metric of the service: the catalogue that they are registered from, and that docs/metrics.md is written from.
///
/// A name that other programs know, so none is changed or left out but with a line in the changelog.
package enum MetricName: String, Sendable, CaseIterable {
    // The program.
    case buildInfo = "fetchd_build_info"
    case workerAlive = "fetchd_worker_alive"
    case processCPU = "process_cpu_seconds_total"
    case processResidentMemory = "process_resident_memory_bytes"
    case processVirtualMemory = "process_virtual_memory_bytes"
    case processOpenDescriptors = "process_open_fds"
    case processMaximumDescriptors = "process_max_fds"
    case processStart = "process_start_time_seconds"
    case eventLoopStall = "fetchd_event_loop_stall_seconds"
    case upkeepFailures = "fetchd_upkeep_failures_total"
    case traceSpans = "fetchd_trace_spans_total"

    // The API.
    case httpRequests = "fetchd_http_requests_total"
    case httpRequestDuration = "fetchd_http_request_duration_seconds"
    case httpConnections = "fetchd_http_connections"
    case eventStreams = "fetchd_event_streams"
    case limitRefusals = "fetchd_limit_refusals_total"
    case tokensRefused = "fetchd_tokens_refused_total"
    case jobsSubmitted = "fetchd_jobs_submitted_total"

    // The queue.
    case queueJobs = "fetchd_queue_jobs"
    case queueOldestAge = "fetchd_queue_oldest_age_seconds"
    case queueOldestDueAge = "fetchd_queue_oldest_due_age_seconds"
    case queueWait = "fetchd_queue_wait_seconds"
    case claims = "fetchd_claims_total"
    case claimedJobs = "fetchd_jobs_claimed_total"
    case slots = "fetchd_slots"
    case slotsFree = "fetchd_slots_free"
    case jobsRunning = "fetchd_jobs_running"
    case jobsWaitingForHost = "fetchd_jobs_waiting_for_host"
    case jobsSettling = "fetchd_jobs_settling"
    case jobsSuspended = "fetchd_jobs_suspended"
    case circuitsOpen = "fetchd_circuits_open"
    case circuitSignals = "fetchd_circuit_signals_total"

    // Attempts.
    case jobsFinished = "fetchd_jobs_finished_total"
    case attempts = "fetchd_attempts_total"
    case attemptsAnswered = "fetchd_attempts_answered_total"
    case attemptErrors = "fetchd_attempt_errors_total"
    case jobDuration = "fetchd_job_duration_seconds"

    // Transfers.
    case transfers = "fetchd_transfers_total"
    case transferPhase = "fetchd_transfer_phase_seconds"
    case connections = "fetchd_connections_total"
    case connectionsOpen = "fetchd_connections_open"
    case tlsHandshakes = "fetchd_tls_handshakes_total"
    case tlsResumptions = "fetchd_tls_sessions_resumed_total"
    case redirects = "fetchd_redirects_total"
    case challenges = "fetchd_challenges_total"
    case cacheVerdicts = "fetchd_cache_verdicts_total"
    case cacheStores = "fetchd_cache_stores_total"
    case cacheMemory = "fetchd_cache_memory_bytes"
    case cacheEvictions = "fetchd_cache_evictions_total"
    case cookies = "fetchd_cookies_total"
    case sentBytes = "fetchd_traffic_sent_bytes_total"
    case receivedBytes = "fetchd_traffic_received_bytes_total"
    case transferDescriptors = "fetchd_transfer_descriptors"
    case transferDescriptorsLimit = "fetchd_transfer_descriptors_limit"
    case loadsWaitingForDescriptors = "fetchd_loads_waiting_for_descriptors"
    case descriptorShortages = "fetchd_descriptor_shortages_total"
    case targetsRefused = "fetchd_targets_refused_total"

    // Webhooks, schedules and questions.
    case webhookAttempts = "fetchd_webhook_attempts_total"
    case webhookDuration = "fetchd_webhook_duration_seconds"
    case webhookBacklog = "fetchd_webhook_backlog"
    case webhookOldestDueAge = "fetchd_webhook_oldest_due_age_seconds"
    case webhookEndpointsDisabled = "fetchd_webhook_endpoints_disabled_total"
    case scheduleRuns = "fetchd_schedule_runs_total"
    case scheduleLateness = "fetchd_schedule_lateness_seconds"
    case questions = "fetchd_questions_total"
    case questionWait = "fetchd_question_wait_seconds"
    case questionsOpen = "fetchd_questions_open"
    case questionsHeld = "fetchd_questions_held"
    case loadsParked = "fetchd_loads_parked_total"
    case delegatesUnreachable = "fetchd_delegates_unreachable"

    // Where things are kept.
    case databaseConnections = "fetchd_database_connections"
    case databaseWaiting = "fetchd_database_queries_waiting"
    case databaseDuration = "fetchd_database_duration_seconds"
    case databaseStatementDuration = "fetchd_database_statement_duration_seconds"
    case databaseFailures = "fetchd_database_failures_total"
    case blobStoreBytes = "fetchd_blob_store_bytes"
    case blobOperation = "fetchd_blob_operation_seconds"
    case blobFailures = "fetchd_blob_failures_total"
    case blobWritten = "fetchd_blob_written_bytes_total"
    case blobRead = "fetchd_blob_read_bytes_total"
    case dataDirectoryFree = "fetchd_data_directory_free_bytes"
    case dataDirectorySize = "fetchd_data_directory_size_bytes"
    case auditSinkBacklog = "fetchd_audit_sink_backlog"
    case auditSinkFailures = "fetchd_audit_sink_failures_total"
}

/// What there is to know of a metric beside its values.
package struct MetricEntry: Sendable {
    package enum Kind: String, Sendable {
        /// A count that only grows since the start of the process.
        case counter
        /// A value that goes up and down.
        case gauge
        /// Counts by size, in cumulative buckets.
        case histogram
        /// A number of observations and their sum, for what has too many labels for buckets.
        case summary
    }

    package let kind: Kind
    package let labels: [String]
    /// One or more sentences.
    package let help: String
    /// The upper bounds of a histogram's buckets.
    package let bounds: [Double]

    fileprivate static func counter(_ help: String, labels: String...) -> MetricEntry {
        MetricEntry(kind: .counter, labels: labels, help: help, bounds: [])
    }

    fileprivate static func gauge(_ help: String, labels: String...) -> MetricEntry {
        MetricEntry(kind: .gauge, labels: labels, help: help, bounds: [])
    }

    fileprivate static func summary(_ help: String, labels: String...) -> MetricEntry {
        MetricEntry(kind: .summary, labels: labels, help: help, bounds: [])
    }

    fileprivate static func histogram(
        _ help: String, bounds: [Double] = Histogram.seconds, labels: String...
    ) -> MetricEntry {
        MetricEntry(kind: .histogram, labels: labels, help: help, bounds: bounds)
    }
}

extension MetricName {
    /// The unit that the name ends with, before `_total`; nil for plain numbers.
    package var unit: String? {
        let name = rawValue.hasSuffix("_total") ? String(rawValue.dropLast("_total".count)) : rawValue
        return ["seconds", "bytes"].first { name.hasSuffix("_\($0)") }
    }

    package var entry: MetricEntry {
        switch self {
        case .buildInfo: .gauge("1, with the version of the program.", labels: "version")
        case .workerAlive: .gauge("1 while this node extends its lease, else 0.")
        case .processCPU: .counter("Processor time that the process has used, by the system for it too.")
        case .processResidentMemory: .gauge("Memory that the process has in the machine's memory.")
        case .processVirtualMemory: .gauge("Addresses that the process has set apart.")
        case .processOpenDescriptors: .gauge("Files and sockets that the process has open.")
        case .processMaximumDescriptors: .gauge("Those that it may have open.")
        case .processStart: .gauge("When the process began, in seconds since 1970.")
        case .eventLoopStall:
            .histogram(
                "Turns of an event loop of 5 ms and more: how long others had to wait, and how long its thread worked.",
                bounds: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10], labels: "loop", "clock")
        case .upkeepFailures:
            .counter(
                "What failed beside running jobs: a step as a whole, or a job or limiter that it went around.",
                labels: "step")
        case .traceSpans:
            .counter(
                "Spans of traces: exported ones, those that no collector took (failed), and those that were dropped "
                    + "since too many waited.",
                labels: "outcome")
        case .httpRequests:
            .counter("Requests answered, by method, route and status.", labels: "method", "route", "status")
        case .httpRequestDuration:
            .histogram(
                "Time until the head of the answer was ready, by route.", bounds: Histogram.fewSeconds, labels: "route")
        case .httpConnections: .gauge("Connections to the API.")
        case .eventStreams: .gauge("Clients that follow a job's events.")
        case .limitRefusals: .counter("Requests refused because a limit was reached, by limit.", labels: "limit")
        case .tokensRefused: .counter("Bearer tokens refused, by reason.", labels: "reason")
        case .jobsSubmitted: .counter("Jobs accepted.")
        case .queueOldestAge:
            .gauge(
                "How long the oldest job has been in a state, of all nodes: scheduled ones beyond their time, running "
                    + "ones since their claim.",
                labels: "state")
        case .queueOldestDueAge:
            .gauge(
                "How long the job has been due that waits for the longest time, of all tenants that are not paused; 0 "
                    + "for none.")
        case .queueWait:
            .histogram("How long jobs had been due when this node claimed them, of those that had to wait.")
        case .claims: .counter("Looks for jobs that wait, by what came of them.", labels: "outcome")
        case .claimedJobs: .counter("Jobs that this node found waiting and took.")
        case .slots: .gauge("Jobs of one tenant that this node holds at most.")
        case .slotsFree: .gauge("Slots for jobs that are free here.")
        case .jobsRunning: .gauge("Jobs that run here.")
        case .jobsWaitingForHost: .gauge("Jobs that wait here for a connection.")
        case .jobsSettling: .gauge("Jobs that have run here and are being stored.")
        case .jobsSuspended: .gauge("Those of them that are held.")
        case .circuitsOpen: .gauge("Hosts that are left alone for now, of all tenants, since they asked for it.")
        case .circuitSignals:
            .counter(
                "Answers of origins here that changed for how long their host is left alone: until a time that they "
                    + "name (wait), without one (backOff), or no longer (proceed).",
                labels: "signal")
        case .queueJobs:
            .gauge(
                "Jobs that are not final, by state, of all nodes; 100000 stands for those and more.", labels: "state")
        case .jobsFinished: .counter("Jobs that reached a final state here.", labels: "state")
        case .attempts:
            .counter(
                "Attempts that ended here, by what follows: a final state of the job, another attempt (retried), or "
                    + "nothing, since another node had the job (fenced).",
                labels: "outcome")
        case .attemptsAnswered:
            .counter("Attempts that ended with a response, by the class of its status.", labels: "status_class")
        case .attemptErrors: .counter("Attempts that ended with an error, by its name.", labels: "error")
        case .jobDuration: .histogram("From an attempt's start to its outcome.")
        case .transferPhase:
            .histogram(
                "How long the phases of transfers took: dns, connect, tls, send, wait (for the first byte), receive.",
                bounds: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60], labels: "phase")
        case .connections:
            .counter(
                "Connections that transfers used: new or reused ones, and those that were lost before an answer.",
                labels: "use")
        case .connectionsOpen: .gauge("Connections of transfers that are open here: in use, idle, or being made.")
        case .tlsHandshakes: .counter("TLS handshakes that were completed, by version.", labels: "version")
        case .tlsResumptions: .counter("Those of them that went on from an earlier handshake with the server.")
        case .redirects: .counter("Redirects that were followed.")
        case .challenges: .counter("Challenges of servers and proxies that were answered.")
        case .cacheVerdicts:
            .counter("What the cache said of responses: hit, or why the request went to the origin.", labels: "verdict")
        case .cacheStores: .counter("Responses that the cache stored.")
        case .cacheMemory: .gauge("Bytes of cached responses in the memory of this node.")
        case .cacheEvictions:
            .counter(
                "Cached responses that were given up for room: from the memory of this node, or from the database by it.",
                labels: "store")
        case .cookies: .counter("Cookies that servers set, by whether they were taken.", labels: "verdict")
        case .sentBytes: .counter("Bytes that jobs have sent.")
        case .receivedBytes: .counter("Bytes that jobs have received.")
        case .transferDescriptors: .gauge("Descriptors that transfers use or have set apart.")
        case .transferDescriptorsLimit: .gauge("Those that they may use.")
        case .loadsWaitingForDescriptors: .gauge("Loads that wait for some.")
        case .descriptorShortages: .counter("How often loads began to wait for some.")
        case .targetsRefused:
            .counter(
                "Targets of jobs, webhooks, delegates and protocols that were refused, by the code of the rule.",
                labels: "rule")
        case .transfers:
            .counter("Requests and their answers, redirects counted each, by protocol.", labels: "protocol")
        case .webhookAttempts: .counter("Attempts to deliver an event, by what follows from them.", labels: "outcome")
        case .webhookDuration: .histogram("How long attempts to deliver an event took.")
        case .webhookBacklog:
            .gauge("Deliveries that are not over, due or not, on all nodes; 100000 stands for those and more.")
        case .webhookOldestDueAge: .gauge("How long the delivery has been due that is due for the longest time.")
        case .webhookEndpointsDisabled: .counter("Endpoints that were disabled, since they did not take events.")
        case .scheduleRuns:
            .counter(
                "Times of schedules that came: fired for each job made, missed for those that overlap or late times "
                    + "leave out, refused for jobs that may not be made, postponed when the database was away.",
                labels: "outcome")
        case .scheduleLateness:
            .histogram("How long times of schedules had been over when their jobs were stored.")
        case .questions:
            .counter("Questions of loads that no rule decided, by who answered.", labels: "kind", "by")
        case .questionWait: .histogram("From the time a question was asked until its load went on.")
        case .questionsOpen: .gauge("Questions that are open, of all nodes; 100000 stands for those and more.")
        case .questionsHeld: .gauge("Loads here that wait for an answer.")
        case .loadsParked: .counter("Loads that were left here to wait for an answer.")
        case .delegatesUnreachable: .gauge("Endpoints that do not answer questions.")
        case .databaseConnections:
            .gauge("Connections to the database, by pool and by what they do.", labels: "pool", "state")
        case .databaseWaiting: .gauge("Statements that wait for a connection to the database.", labels: "pool")
        case .databaseDuration:
            .histogram("How long statements took, from their sending to their answer.", bounds: Histogram.fewSeconds)
        case .databaseStatementDuration:
            .summary("How often each statement was sent, and how long all of its answers took.", labels: "statement")
        case .databaseFailures:
            .counter(
                "Statements that failed, by PostgreSQL's name of the error's condition, or that of the connection's "
                    + "end; those that are tried again count too.",
                labels: "error")
        case .blobOperation:
            .histogram(
                "How long the blob store took: to write and to read one piece, to make a blob durable (finish), to "
                    + "take over a file (adopt), to give one (file), and to create, open and delete.",
                bounds: Histogram.fewSeconds, labels: "operation")
        case .blobFailures:
            .counter("What the blob store did not do, by the code of the problem.", labels: "operation", "error")
        case .blobWritten: .counter("Bytes that the blob store has taken.")
        case .blobRead: .counter("Bytes that it has given.")
        case .blobStoreBytes:
            .gauge("Bytes of stored bodies and files; estimated from 100000 of them when there are more.")
        case .dataDirectoryFree: .gauge("Bytes that are free on the disk of the data directory.")
        case .dataDirectorySize: .gauge("Bytes of that disk.")
        case .auditSinkBacklog:
            .gauge("Entries of the audit log that a file or syslog receiver does not have yet.", labels: "sink")
        case .auditSinkFailures: .counter("How often it did not take entries.", labels: "sink")
        }
    }

    /// All metrics as a table in Markdown.
    package static var markdown: String {
        let rows = allCases.sorted { $0.rawValue < $1.rawValue }.map { name in
            let labels = name.entry.labels.map { "`\($0)`" }.joined(separator: " ")
            return
                "| `\(name.rawValue)` | \(name.entry.kind.rawValue) | \(name.unit ?? "") | \(labels) | \(name.entry.help) |"
        }
        return (["| metric | kind | unit | labels | what it tells |", "| --- | --- | --- | --- | --- |"] + rows)
            .joined(separator: "\n")
    }
}
