// A job as its last attempt leaves it.

extension Job {
    /// The job as it is stored with the outcome of its only attempt; nil when that cannot be told without a look into
    /// the store.
    package init?(_ claimed: ClaimedJob, ending outcome: JobOutcome) {
        guard let storedAt = claimed.storedAt else { return nil }
        self.init(
            id: claimed.id, tenant: claimed.tenant, state: outcome.state, spec: RawJSON(claimed.spec.json),
            createdAt: storedAt)
        startedAt = outcome.startedAt
        end(outcome, attempt: Int(claimed.claim))
    }

    /// Brings the job to its final state.
    ///
    /// - Parameters:
    ///   - number: The number of the attempt that has ended it.
    ///   - summary: The summary of the body, where it was made before; nil to make it here.
    package mutating func end(_ outcome: JobOutcome, attempt number: Int, body summary: BodySummary? = nil) {
        state = outcome.state
        isCancelling = false
        finishedAt = outcome.finishedAt
        nextAttemptAt = nil
        response = outcome.response?.named
        error = outcome.error
        redirects = outcome.redirects
        challenges = outcome.challenges
        body = summary ?? outcome.body.map(BodySummary.init)
        file = outcome.file
        attempts.append(Attempt(outcome, number: number))
    }
}

extension Job.BodySummary {
    package init(_ body: JobOutcome.Body) {
        switch body {
        case .inline(let bytes): self.init(bytes: Int64(bytes.count), digest: SHA256Digest(of: bytes))
        case .blob(let content): self.init(bytes: content.bytes, digest: content.digest)
        }
    }
}

extension Job.Attempt {
    /// - Parameter next: When another one is to follow.
    package init(_ outcome: JobOutcome, number: Int, next: Timestamp? = nil) {
        self.init(
            number: number,
            startedAt: outcome.startedAt,
            finishedAt: outcome.finishedAt,
            state: outcome.state,
            errorName: outcome.errorName,
            status: outcome.status,
            nextAttemptAt: next,
            metrics: outcome.transfers?.named(since: outcome.startedAt),
            decisions: outcome.decisions
        )
    }
}
