// The result of a task of the engine, in the form that is stored.

import FetchEngine
import FetchJobs
import HTTPTypes

extension JobOutcome {
    /// Not inlined, so that the frames of loads have no room for its values.
    @inline(never)
    init(
        _ result: Result<(Response, Body?), LoadError>,
        of task: SessionTask,
        _ load: PreparedLoad,
        startedAt start: Timestamp
    ) {
        let urls = load.job.spec.request.urlForm
        switch result {
        case .success((let response, let body)):
            let isFailure = load.retry.statuses.contains(response.status.code)
            let wait = isFailure || load.isWrongAddress(response) ? load.wait(after: response, of: task) : nil
            if isFailure {
                self.init(failing: .status(of: response), startedAt: start, urls)
                retryAfter = wait
            } else if let wait {
                self.init(failing: .mirrorStatus(of: response), startedAt: start, urls)
                retryAfter = wait
            } else {
                self.init(state: .succeeded, startedAt: start, finishedAt: .now)
            }
            show(response, of: task, urls)
            // Where a redirect has led is another host.
            let asked = load.job.url
            if response.url == asked || response.url.hostAndPort == asked.hostAndPort {
                signal = Limiter.Signal(of: response)
                // A job that alone heeds its server holds back no others, and lets them go on.
                if load.retry.retryAfterScope == .job, signal != .proceed { signal = nil }
            }
            self.body = body
        case .failure(let error):
            self.init(failing: error, startedAt: start, urls)
            // The head may have come, and is shown although the body failed.
            if let response = task.response { show(response, of: task, urls) }
            if state == .failed {
                let metrics = task.metrics
                retryAfter = load.wait(
                    after: .init(code: error.code, wasSent: metrics.mayHaveSent, repeats: metrics.repeats))
            }
        }
        deadline = load.deadline
        decisions = load.decisions?.json
        let metrics = task.metrics
        isMultiplexed = metrics.transactions.first?.networkProtocolName == "h2"
        let taskStart = start.advanced(by: .zero - task.earlier)
        observation = LoadObservation(of: task, metrics, startedAt: taskStart)
        traffic = metrics.transactions.reduce(Traffic()) { $0 + Traffic(of: $1) }
        transfers = StoredTransfers(metrics, earlier: task.earlier, urls)
        let steps = task.steps
        guard !steps.isEmpty else { return }
        self.redirects = Self.array(task.redirects) { $0.write(&$1, urls) }
        self.challenges = Self.array(task.challenges) { $0.write(&$1) }
    }

    private mutating func show(_ response: Response, of task: SessionTask, _ urls: URLForm) {
        status = response.status.code
        self.response = StoredResponse(response, urls, trailers: task.trailerFields, cookies: task.cookieVerdicts)
    }

    /// Nil of nothing.
    private static func array<Element>(
        _ elements: [Element], write: (Element, inout JSONWriter) -> Void
    ) -> RawJSON? {
        guard !elements.isEmpty else { return nil }
        return RawJSON.array { writer in
            for element in elements { writer.object { write(element, &$0) } }
        }
    }

    /// The outcome of a job that its node had to give up, and that must not be repeated (REL-6).
    static func interrupted(_ outcome: JobOutcome) -> JobOutcome {
        let message = "The node that ran the job was stopped; a request of this method is not repeated."
        var failed = JobOutcome(failing: LoadError(.networkConnectionLost, message), startedAt: outcome.startedAt)
        failed.transfers = outcome.transfers
        failed.decisions = outcome.decisions
        failed.redirects = outcome.redirects
        failed.challenges = outcome.challenges
        return failed
    }

    /// The outcome of a job that ended with an error, in its load or before it.
    ///
    /// - Parameter urls: The form in which the URL that failed is shown.
    init(failing error: LoadError, startedAt start: Timestamp, _ urls: URLForm = .whole) {
        self.init(state: error.code == .cancelled ? .cancelled : .failed, startedAt: start, finishedAt: .now)
        errorName = error.code.name
        refusedTarget = RefusedTarget(error)
        self.error = RawJSON(JSONWriter.object { error.write(&$0, urls) })
    }
}

extension PreparedLoad {
    /// Whether a file is not where it was looked for, and may be where nobody has looked yet.
    fileprivate func isWrongAddress(_ response: Response) -> Bool { hasUntriedURL && response.status.code >= 400 }

    fileprivate func wait(after response: Response, of task: SessionTask) -> Duration? {
        guard retry.final?.matches(response) != true else { return nil }
        return wait(
            after: .init(
                code: .badServerResponse, status: response.status.code, retryAfter: retry.retryAfter(of: response),
                wasSent: true, repeats: task.metrics.repeats))
    }
}

extension RefusedTarget {
    /// The target that a load was refused; nil when it failed otherwise.
    init?(_ error: LoadError) {
        guard error.refusal != nil || error.code.isRefusal else { return nil }
        self.init(error.failingURL?.redacted ?? "", code: error.code.name, error.refusal)
    }
}

extension LoadError.Code {
    /// Whether a target was refused, or the proxy to it.
    fileprivate var isRefusal: Bool { Self.refusals.contains(name) }

    private static let refusals: Set<String> = [
        addressForbidden.name, redirectTargetForbidden.name, proxyForbidden.name,
        TargetRefusal.Code.hostForbidden.name, TargetRefusal.Code.hostSingleLabel.name,
        TargetRefusal.Code.portForbidden.name, TargetRefusal.Code.schemeForbidden.name,
    ]
}

extension Traffic {
    fileprivate init(of transaction: TransactionMetrics) {
        self.init(
            sentBytes: transaction.countOfRequestHeaderBytesSent + transaction.countOfRequestBodyBytesSent,
            receivedBytes: transaction.countOfResponseHeaderBytesReceived
                + transaction.countOfResponseBodyBytesReceived)
    }
}

extension TaskMetrics {
    /// Bytes of a request may have left.
    fileprivate var mayHaveSent: Bool { transactions.contains { $0.requestStart != nil } }

    /// How often a request was sent again because its connection was lost.
    fileprivate var repeats: Int { transactions.count { $0.connectionWasLost } }
}

extension LoadError {
    /// The error of a job that takes the status of a response for a failure.
    fileprivate static func status(of response: Response) -> LoadError {
        LoadError(
            .badServerResponse,
            "The server answered with the status \(response.status.code), which retry.statuses names a failure.",
            failingURL: response.url)
    }

    /// The error of an attempt after which another URL of the file is loaded.
    fileprivate static func mirrorStatus(of response: Response) -> LoadError {
        LoadError(
            .badServerResponse,
            "The server answered with the status \(response.status.code); the next of the mirrors is tried.",
            failingURL: response.url)
    }
}
