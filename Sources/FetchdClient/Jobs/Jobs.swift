public import FetchEngine
import Foundation
import HTTPTypes

/// The jobs of a tenant.
public struct Jobs: Sendable {
    let transport: Transport

    /// Stores a job durably and returns it: at once, or with `wait` when it is final or that time is over.
    ///
    /// - Parameters:
    ///   - request: What to fetch. A body that is a file, or has more than 512 KiB, is stored as a blob first.
    ///   - options: What the job is beside it.
    ///   - wait: How long the service may hold its answer; a minute at most.
    ///   - idempotencyKey: For 24 hours the same key names the job that it made first. Each call has one of its own by
    ///     default, so that its repeats make one job.
    public func submit(
        _ request: Request, options: JobOptions = JobOptions(), wait: Duration? = nil, idempotencyKey: String? = nil
    ) async throws(FetchdError) -> Job {
        let key = idempotencyKey ?? UUID().uuidString
        let body = try await transport.document(of: request, asBlob: false, key: "\(key)-body")
        return try await submit(options.document(for: request, body: body), wait: wait, key: key)
    }

    func submit(_ document: JSONValue, wait: Duration? = nil, key: String) async throws(FetchdError) -> Job {
        try await transport.value(Call(.post, "/v1/jobs", key: key, wait: wait).with(document))
    }

    /// The job as it stands; with `wait` once it is final, or that time (a minute at most) is over.
    public func get(_ id: String, wait: Duration? = nil) async throws(FetchdError) -> Job {
        try await transport.value(Call(.get, Call.path("jobs", id), wait: wait))
    }

    /// The job once it has succeeded, which it has with a response of any status.
    ///
    /// - Parameter timeout: How long to wait; as long as it takes by default.
    /// - Throws: `jobFailed` when it failed or was cancelled, and `timedOut`.
    public func result(_ id: String, timeout: Duration? = nil) async throws(FetchdError) -> Job {
        let deadline = timeout.map { ContinuousClock.now + $0 }
        while true {
            let left = deadline.map { $0 - .now } ?? Call.longestWait
            // The service counts whole seconds.
            let job = try await get(id, wait: left <= .zero ? nil : .seconds(left.components.seconds + 1))
            if job.state.isFinal {
                guard job.state == .succeeded else { throw FetchdError(failed: job) }
                return job
            }
            if let deadline, deadline <= .now { throw FetchdError(.timedOut, "The job is not final yet.") }
        }
    }

    /// The jobs that a filter means, the newest first, over all pages.
    ///
    /// - Parameters:
    ///   - state: Only jobs in this state.
    ///   - session: Only jobs of this session.
    ///   - label: Only jobs with this label, written as its name, a colon and its value.
    ///   - error: Only jobs that failed with the error of this name.
    public func list(
        state: Job.State? = nil, session: String? = nil, label: String? = nil, error: String? = nil
    ) -> PageSequence<JobSummary> {
        let query = [("state", state?.rawValue), ("session", session), ("label", label), ("error", error)]
        return PageSequence(transport: transport, path: "/v1/jobs", query: query)
    }

    /// Asks a job to stop.
    ///
    /// One that runs ends soon, and may still succeed; a final one stays as it is.
    @discardableResult
    public func cancel(_ id: String) async throws(FetchdError) -> Job { try await act("cancel", id) }

    /// Holds a job until it is resumed.
    @discardableResult
    public func suspend(_ id: String) async throws(FetchdError) -> Job { try await act("suspend", id) }

    /// Lets a suspended job go on.
    @discardableResult
    public func resume(_ id: String) async throws(FetchdError) -> Job { try await act("resume", id) }

    /// Lets a job that failed or was cancelled run again, under its id.
    @discardableResult
    public func retry(_ id: String) async throws(FetchdError) -> Job { try await act("retry", id) }

    private func act(_ action: String, _ id: String) async throws(FetchdError) -> Job {
        try await transport.value(Call(.post, Call.path("jobs", id, action)))
    }

    /// Sets labels of a job; those that have no value are taken away.
    @discardableResult
    public func setLabels(_ labels: [String: String?], of id: String) async throws(FetchdError) -> Job {
        let change = labels.mapValues { $0.map { JSONValue.string($0) } ?? .null }
        return try await transport.value(Call(.patch, Call.path("jobs", id)).with(["labels": .object(change)]))
    }

    /// What happens to a job, up to its end.
    ///
    /// A connection that breaks is made anew, and the events go on behind the last one that came.
    ///
    /// - Parameter lastEventID: The last event that is known already.
    public func events(_ id: String, after lastEventID: String? = nil) -> JobEvents {
        JobEvents(transport: transport, job: id, lastEventID: lastEventID, repeats: Transport.repeats)
    }

    /// The body of a job's response, as it comes.
    public func body(_ id: String) -> JobBody { JobBody(transport: transport, job: id) }

    /// The whole body of a job's response.
    public func data(_ id: String) async throws(FetchdError) -> [UInt8] {
        var data: [UInt8] = []
        for try await chunk in body(id) { data += chunk }
        return data
    }
}

extension FetchdError {
    init(failed job: Job) {
        let error = job.error ?? LoadError(.cancelled, "The job was cancelled.")
        self.init(.jobFailed, "The job \(job.id) is \(job.state).", underlying: error)
        detail = error.message
    }
}
