package import FetchEngine
package import HTTPTypes

/// Whether a failed attempt is followed by another one, and after which time.
package struct RetryPolicy: Sendable, Equatable {
    /// How long to wait, longer each time.
    package struct Backoff: Sendable, Equatable {
        /// What the waits are, when they do not just grow.
        package enum Waits: Sendable, Equatable {
            /// From ``initial`` by ``factor``.
            case growing
            /// One after the other; the last one again and again.
            case listed([Duration])
            case computed(WaitExpression)
        }

        package var waits = Waits.growing
        package var initial: Duration
        /// The ratio of a wait to the wait before it.
        package var factor: Double
        package var maximum: Duration
        /// The random part of a wait, from 0 to 1, so that jobs that failed together do not come back together.
        package var jitter: Double

        package init(
            initial: Duration = .seconds(1), factor: Double = 2, maximum: Duration = .seconds(300), jitter: Double = 0.5
        ) {
            self.initial = initial
            self.factor = factor
            self.maximum = maximum
            self.jitter = jitter
        }

        /// - Parameters:
        ///   - tries: How many waits there were before.
        ///   - random: From 0 to 1.
        package func wait(after tries: Int, random: Double) -> Duration {
            min(wait(after: tries), maximum) * (1 - jitter * random)
        }

        /// Without its random part, and perhaps longer than ``maximum``.
        private func wait(after tries: Int) -> Duration {
            switch waits {
            case .growing:
                var wait = initial
                for _ in 0..<tries where wait < maximum { wait = wait * factor }
                return wait
            case .listed(let list): return list.isEmpty ? .zero : list[min(tries, list.count - 1)]
            case .computed(let expression):
                let seconds = expression.value(retried: tries)
                // What grows beyond all numbers, or is none, is as long as it may be.
                return seconds < maximum.seconds ? .seconds(max(seconds, 0)) : maximum
            }
        }
    }

    /// Why an attempt failed, as far as it matters here.
    package struct Failure: Sendable {
        package let code: LoadError.Code
        /// The status that the job takes for a failure; nil when the load itself failed.
        package let status: Int?
        /// How long the server wants to be left alone (RFC 9110 §10.2.3).
        package let retryAfter: Duration?
        /// Bytes of the request may have left.
        package let wasSent: Bool
        /// How often the engine has sent the request again in this attempt; each counts as one.
        package let repeats: Int

        package init(
            code: LoadError.Code, status: Int? = nil, retryAfter: Duration? = nil, wasSent: Bool, repeats: Int = 0
        ) {
            self.code = code
            self.status = status
            self.retryAfter = retryAfter
            self.wasSent = wasSent
            self.repeats = repeats
        }
    }

    /// Whom a server means that wants to be left alone.
    package enum RetryAfterScope: String, Sendable, CaseIterable {
        /// All jobs of its host: its circuit breaker opens, and the job waits for that long at least.
        case host
        /// The job alone, which waits for just that long, and a day at most.
        case job
    }

    /// A failing answer after which no attempt follows: of this status, with this field as `true`.
    package struct FinalAnswer: Sendable, Equatable {
        package let status: Int
        package let field: HTTPField.Name

        package func matches(_ response: Response) -> Bool {
            response.status.code == status && response.headerFields[field]?.lowercased() == "true"
        }
    }

    /// The longest time that a server can make a job wait which alone heeds it.
    static let longestWaitOfJob = Duration.seconds(86_400)

    /// A server that wants to be left alone for longer is not asked again.
    static let longestRetryAfter = Duration.seconds(7 * 86_400)

    /// The first one included.
    package var maximumAttempts = 3
    package var backoff = Backoff()
    /// The statuses that are failures.
    package var statuses = FailureStatuses()
    /// The names of the errors that another attempt may help against; nil for those that are transient.
    package var errors: Set<String>?
    package var honorRetryAfter = true
    package var retryAfterScope = RetryAfterScope.host
    package var final: FinalAnswer?
    /// Whether a request that must not be repeated is sent again, although it may have been received.
    package var replayUnsafe = false
    /// Whether attempts that take too long are followed by others beyond ``maximumAttempts``, until the deadline of the
    /// job (BKG-14).
    package var repeatsTimeouts = false

    package init() {}

    /// The defaults of the service, overridden by the members that are set.
    package init(_ configuration: Configuration.Retry) {
        maximumAttempts = configuration.maximumAttempts ?? maximumAttempts
        backoff = configuration.backoff ?? backoff
        statuses = configuration.statuses.map { FailureStatuses($0) } ?? statuses
        errors = configuration.errors.map { Set($0) }
        honorRetryAfter = configuration.honorRetryAfter ?? honorRetryAfter
        retryAfterScope = configuration.retryAfterScope ?? retryAfterScope
        final = configuration.final
        replayUnsafe = configuration.replayUnsafe ?? replayUnsafe
    }

    /// How long the server of a failing response wants to be left alone; nil when it does not say.
    package func retryAfter(of response: Response) -> Duration? {
        let retryAfter = response.retryAfter()
        guard retryAfter == nil, retryAfterScope == .job else { return retryAfter }
        return response.headerFields.resetOfRateLimit()
    }

    /// Whether the request may be sent again without asking how far it came.
    package func mayRepeat(_ request: JobRequest) -> Bool { replayUnsafe || request.isIdempotent }

    /// How long to wait before the next attempt; nil when there is none.
    ///
    /// A URL of the file that was not loaded yet is tried at once, however many attempts there were.
    ///
    /// - Parameters:
    ///   - tries: How many attempts were followed by another one before this.
    ///   - deadline: When the job is given up; the next attempt begins before.
    ///   - random: From 0 to 1.
    package func wait(
        after failure: Failure,
        of request: JobRequest,
        tries: Int,
        until deadline: Timestamp?,
        random: Double
    ) -> Duration? {
        if request.hasUntriedURL(after: tries), !Self.errorsHere.contains(failure.code) {
            return deadline.map { Timestamp.now < $0 } ?? true ? .zero : nil
        }
        let isBeyond = tries + failure.repeats + 1 >= maximumAttempts
        guard !isBeyond || repeatsTimeouts && failure.code == .timedOut && deadline != nil, mayHelp(against: failure)
        else { return nil }
        // A body that the client streams is gone once it was sent.
        guard !failure.wasSent || mayRepeat(request) && request.body != .stream else { return nil }
        var wait = backoff.wait(after: tries, random: random)
        if honorRetryAfter, let retryAfter = failure.retryAfter {
            switch retryAfterScope {
            // The next attempt loads another URL; where that has the same host, its circuit breaker makes it wait.
            case .host where !request.mirrors.isEmpty: break
            case .host:
                guard retryAfter <= Self.longestRetryAfter else { return nil }
                wait = max(wait, retryAfter)
            case .job: wait = min(retryAfter, Self.longestWaitOfJob)
            }
        }
        guard let deadline else { return wait }
        // A hundredth of the time that is left, at least, so that there are hundreds of them and not millions.
        if isBeyond { wait = max(wait, .microseconds((deadline.microseconds - Timestamp.now.microseconds) / 100)) }
        return Timestamp.now.advanced(by: wait) < deadline ? wait : nil
    }

    /// What another URL of a file would meet too: the fault is not its server's, or somebody has decided so.
    private static let errorsHere: Set<LoadError.Code> = [
        .cancelled, .sessionInvalidated, .userCancelledAuthentication, .cannotLoadFromNetwork,
        .dataLengthExceedsMaximum,
        .cannotCreateFile, .cannotOpenFile, .cannotCloseFile, .cannotWriteToFile, .cannotRemoveFile, .cannotMoveFile,
        .headerInvalid, .headerForbidden, .proxyInvalid,
    ]

    private func mayHelp(against failure: Failure) -> Bool {
        failure.status != nil || errors?.contains(failure.code.name) ?? failure.code.isTransient
    }
}
