import FetchEngine

/// A job: its spec, its state, and its result.
package struct Job: Sendable {
    package enum Kind: IdentifierKind {
        package static let prefix = "job"
    }

    package typealias ID = Identifier<Kind>

    package let id: ID
    package let tenant: Tenant.ID
    package var state: JobState
    /// The ``JobSpec``, as it was stored.
    package var spec: RawJSON
    package let createdAt: Timestamp
    package var startedAt: Timestamp?
    package var finishedAt: Timestamp?
    /// When it is to start, while it is scheduled.
    package var nextAttemptAt: Timestamp?
    /// The open question that it waits for.
    package var waitingFor: Question.ID?
    /// It was asked to stop and has not yet.
    package var isCancelling = false
    /// How far it is, when it runs in this process.
    package var progress: JobProgress?
    /// Final jobs that got a response: see ``JobOutcome``.
    package var response: RawJSON?
    /// Failed and cancelled jobs: the error, in the engine's words.
    package var error: RawJSON?
    /// Whether ``shownError`` has what the library below has reported: operators alone see it (ERR-6).
    package var showsCause = false
    package var redirects: RawJSON?
    package var challenges: RawJSON?
    package var body: BodySummary?
    /// Downloads that succeeded: `{"blob", "filename", …}`.
    package var file: RawJSON?
    package var attempts: [Attempt] = []

    /// A node has it now.
    package var isClaimed: Bool { !state.isFinal && startedAt != nil }

    package init(id: ID, tenant: Tenant.ID, state: JobState, spec: RawJSON, createdAt: Timestamp) {
        self.id = id
        self.tenant = tenant
        self.state = state
        self.spec = spec
        self.createdAt = createdAt
    }

    /// A stored response body, without its bytes.
    package struct BodySummary: Sendable, Equatable {
        package let bytes: Int64
        package let digest: SHA256Digest

        package init(bytes: Int64, digest: SHA256Digest) {
            self.bytes = bytes
            self.digest = digest
        }
    }

    /// One execution of a job on one node.
    package struct Attempt: Sendable {
        /// Counts from 1 over the life of the job; it is the claim number the attempt ran under.
        package let number: Int
        package let startedAt: Timestamp
        package let finishedAt: Timestamp
        package let state: JobState
        /// The name of the error it ended with.
        package let errorName: String?
        /// The status of the response it got.
        package let status: Int?
        /// When the next attempt was to start; nil when none followed.
        package let nextAttemptAt: Timestamp?
        /// Per transfer, named after URLSessionTaskTransactionMetrics.
        package let metrics: RawJSON?
        /// The decisions in their order, as ``Decision`` writes them; nil when there was no question.
        package let decisions: RawJSON?

        package init(
            number: Int,
            startedAt: Timestamp,
            finishedAt: Timestamp,
            state: JobState,
            errorName: String?,
            status: Int? = nil,
            nextAttemptAt: Timestamp? = nil,
            metrics: RawJSON?,
            decisions: RawJSON? = nil
        ) {
            self.number = number
            self.startedAt = startedAt
            self.finishedAt = finishedAt
            self.state = state
            self.errorName = errorName
            self.status = status
            self.nextAttemptAt = nextAttemptAt
            self.metrics = metrics
            self.decisions = decisions
        }
    }
}

extension Job {
    /// The job as clients see it, in the API and in webhooks.
    package var json: [UInt8] { JSONWriter.object(write) }

    package func write(_ writer: inout JSONWriter) {
        writer.member("id", id.description)
        writer.member("state", state.rawValue)
        writer.member("createdAt", createdAt.description)
        writer.member("startedAt", startedAt?.description)
        writer.member("finishedAt", finishedAt?.description)
        writer.member("nextAttemptAt", nextAttemptAt?.description)
        writer.member("waitingFor", waitingFor?.description)
        if isCancelling { writer.member("cancelling", true) }
        if let progress { writer.member("progress", object: progress.write) }
        (error.flatMap { Resumable(error: $0) } ?? progress?.resumable)?.write(&writer)
        writer.members(of: specWithKind)
        writer.member("response", response)
        writer.member("error", shownError)
        writer.member("redirects", redirects)
        writer.member("challenges", challenges)
        if let body {
            writer.member(
                "body",
                object: { writer in
                    writer.member("bytes", body.bytes)
                    writer.member("digest", body.digest.field)
                    writer.member("href", "/v1/jobs/\(id)/body")
                }
            )
        }
        writer.member("file", file)
        guard state.isFinal || !attempts.isEmpty else { return }
        writer.member("attempts", array: { writer in attempts.forEach { $0.write(&writer) } })
    }
}

extension Job {
    /// The error as those are shown it who look at the job.
    package var shownError: RawJSON? { showsCause ? error : error?.withoutCause }

    /// The spec with the present kind of the job: a job with a file is a download, even if it began as another (LIF-7).
    private var specWithKind: RawJSON {
        guard file != nil else { return spec }
        for kind in [JobSpec.Kind.data, .upload] {
            // A spec begins with its kind.
            let start = Array("{\"kind\":\"\(kind.rawValue)\"".utf8)
            guard spec.bytes.starts(with: start) else { continue }
            let download = "{\"kind\":\"\(JobSpec.Kind.download.rawValue)\""
            return RawJSON(Array(download.utf8) + spec.bytes.dropFirst(start.count))
        }
        return spec
    }

    /// The submission; nil when an earlier release stored it under rules that are no longer valid.
    package var storedSpec: JobSpec? { try? JobSpec(stored: JSONParser.parse(spec.bytes)) }
}

extension RawJSON {
    /// An error of a job without what the library below has reported.
    fileprivate var withoutCause: RawJSON {
        guard case .object(let members)? = try? JSONParser.parse(bytes), members[LoadError.cause] != nil else {
            return self
        }
        return RawJSON(
            JSONWriter.object { writer in
                for member in members where member.name != LoadError.cause {
                    writer.member(member.name, member.value)
                }
            })
    }
}

extension Job.Attempt {
    fileprivate func write(_ writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("number", number)
            writer.member("startedAt", startedAt.description)
            writer.member("finishedAt", finishedAt.description)
            writer.member("state", state.rawValue)
            writer.member("error", errorName)
            writer.member("status", status)
            writer.member("nextAttemptAt", nextAttemptAt?.description)
            writer.member("metrics", metrics)
        }
    }
}

/// A job as lists show it.
package struct JobSummary: Sendable {
    package let id: Job.ID
    package let state: JobState
    package let createdAt: Timestamp
    package let finishedAt: Timestamp?
    package let method: String
    /// Without query and fragment.
    package let url: String
    package let status: Int?
    package let errorName: String?

    package init(
        id: Job.ID,
        state: JobState,
        createdAt: Timestamp,
        finishedAt: Timestamp?,
        method: String,
        url: String,
        status: Int?,
        errorName: String?
    ) {
        self.id = id
        self.state = state
        self.createdAt = createdAt
        self.finishedAt = finishedAt
        self.method = method
        self.url = url
        self.status = status
        self.errorName = errorName
    }

    package func write(_ writer: inout JSONWriter) {
        writer.member("id", id.description)
        writer.member("state", state.rawValue)
        writer.member("createdAt", createdAt.description)
        writer.member("finishedAt", finishedAt?.description)
        writer.member("method", method)
        writer.member("url", url)
        writer.member("status", status)
        writer.member("error", errorName)
    }
}
