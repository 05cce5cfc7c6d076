import FetchEngine
import FetchJobs
import FetchRuntime
import Logging
import Synchronization

/// One attempt of one job on this node, from its slot to its stored outcome.
struct JobExecution {
    let dispatcher: Dispatcher
    let job: ClaimedJob
    let stop: StopSwitch

    private var queue: any JobLifeCycle { dispatcher.queue }
    private var logger: Logger { dispatcher.logger }

    nonisolated(nonsending) func run() async {
        await end(await outcome())
    }

    /// Stores an outcome, and lets go of what the job had.
    ///
    /// Not inlined: the frame that waits for the load would have room for what it needs.
    @inline(never)
    private nonisolated(nonsending) func end(_ outcome: SharedOutcome?) async {
        defer { dispatcher.letGo(of: job, stop) }
        dispatcher.running.end(job.id, stop)
        // Another job runs while this one is stored; but when storing takes long, the jobs that wait for it take memory
        // too.
        let leavesEarly = dispatcher.hasRoomToSettle
        if leavesEarly { dispatcher.leave(stop) }
        #if DEBUG
            if outcome != nil { CrashPoint.settleBefore.pass() }
        #endif
        if let outcome { await store(outcome.value) }
        if !leavesEarly { dispatcher.leave(stop) }
    }

    // MARK: Before it is stored

    /// Waits for a connection, begins and loads; nil when this node has no outcome to store.
    private nonisolated(nonsending) func outcome() async -> SharedOutcome? {
        do throws(StoreError) {
            let claimedAt = dispatcher.runner.spans?.trace(of: job) == nil ? nil : Timestamp.now
            guard let terms = try await dispatcher.runner.terms(of: job) else { return sessionIsGone() }
            guard try await dispatcher.waitForConnection(job, stop, maximum: terms.maximumConnections) else {
                return nil
            }
            var isMultiplexed = false
            defer { dispatcher.slots.exit(stop, isMultiplexed: isMultiplexed) }
            if !terms.mayRepeat {
                guard try await begin() else { return try await notBegun() }
            }
            if let claimedAt { dispatcher.runner.spans?.recordWait(of: job, claimedAt: claimedAt) }
            let outcome = try await dispatcher.runner.run(job, by: terms, stop: stop, beginning: beginAgain)
            isMultiplexed = outcome.value.isMultiplexed
            return try await storable(outcome, mayRepeat: terms.mayRepeat)
        } catch {
            giveUp(because: error)
            return nil
        }
    }

    /// The outcome of an attempt that is over; nil when this node has none to store.
    ///
    /// Not inlined: the frame of ``outcome()``, which waits for the load, would have room for what it needs.
    @inline(never)
    private nonisolated(nonsending) func storable(
        _ outcome: SharedOutcome, mayRepeat: Bool
    ) async throws(StoreError) -> SharedOutcome? {
        switch stop.reason {
        case .leaseLost: return nil
        case .parked:
            dispatcher.leave(dispatcher.queue.limiters(of: job))
            return nil
        case .drained where outcome.value.state != .succeeded:
            // What was not begun is another node's, and what is being cancelled has ended.
            if try await release() || mayRepeat { return nil }
            return outcome.value.state == .cancelled ? SharedOutcome(.interrupted(outcome.value)) : outcome
        case .drained, .cancelled, .expired, nil: return outcome
        }
    }

    /// The session was removed, which cannot happen while it has jobs, unless another program changed the database.
    @inline(never)
    private func sessionIsGone() -> SharedOutcome {
        SharedOutcome(failing: LoadError(.sessionInvalidated, "The session of the job is gone."), startedAt: .now)
    }

    /// Commits that a request is about to be sent; it is not sent when the commit is uncertain.
    @inline(never)
    private nonisolated(nonsending) func begin() async throws(StoreError) -> Bool {
        guard stop.begin() else { return false }
        do throws(StoreError) {
            let isOurs = try await queue.begin(job)
            #if DEBUG
                CrashPoint.beginCommitted.pass()
            #endif
            return isOurs
        } catch {
            dispatcher.unsent.withLock { $0.append(job) }
            throw error
        }
    }

    /// The job is another node's, or is to be.
    @inline(never)
    private nonisolated(nonsending) func notBegun() async throws(StoreError) -> SharedOutcome? {
        if case .drained = stop.reason { _ = try await release() }
        return nil
    }

    /// Gives the job back; false when it was begun.
    private nonisolated(nonsending) func release() async throws(StoreError) -> Bool {
        guard try await !queue.release([job]).isEmpty else { return false }
        // It may have ended by that, or have been resumed meanwhile.
        dispatcher.leave(dispatcher.queue.limiters(of: job))
        dispatcher.intake.wake(for: [job.tenant])
        tellOthers()
        return true
    }

    /// The same after an answer; without it, the attempt is given up.
    private func beginAgain() async -> Bool {
        guard stop.reason == nil else { return false }
        do throws(StoreError) {
            if try await begin() { return true }
        } catch {
            giveUp(because: error)
        }
        stop.stop(.leaseLost)
        return false
    }

    /// Leaves the job to whichever node finds it: nobody knows what of it was committed.
    @inline(never)
    private func giveUp(because error: StoreError) {
        logger.warning("job given up", metadata: told(["error": "\(error)"]))
        dispatcher.intake.noteUncertainCommit()
    }

    // MARK: Storing

    private static let backoff = RetryPolicy.Backoff(initial: .milliseconds(100), maximum: .seconds(5))

    /// Stores the outcome, however long the database is away: until then the job is not done.
    private nonisolated(nonsending) func store(_ outcome: JobOutcome) async {
        noteRefusal(outcome)
        if let signal = outcome.signal { await dispatcher.heed(signal, askedAt: outcome.startedAt, of: job) }
        let report = job.spec.callbacks.isEmpty ? nil : await dispatcher.runner.report(of: job, outcome)
        var tries = 0
        while !Task.isCancelled {
            do throws(StoreError) {
                let isRetried =
                    if let wait = outcome.retryAfter {
                        try await retry(outcome, after: wait, telling: report)
                    } else { false }
                if !isRetried { try await settle(outcome, telling: report) }
                return dispatcher.leave(dispatcher.queue.limiters(of: job))
            } catch  where error.code == .unavailable {
                noteWait()
                try? await dispatcher.clock.sleep(for: Self.backoff.wait(after: tries, random: .random(in: 0...1)))
                tries += 1
            } catch {
                return await settleRefused(outcome, because: error)
            }
        }
    }

    @inline(never)
    private func noteWait() { logger.warning("settling waits for the database", metadata: told()) }

    /// Counts a target that was refused (SEC-12).
    @inline(never)
    private func noteRefusal(_ outcome: JobOutcome) {
        guard var target = outcome.refusedTarget else { return }
        // A refusal without a URL is about the one that the job names.
        if target.url.isEmpty { target.url = job.url.redacted }
        dispatcher.refusals.note(target, of: job.tenant)
    }

    /// Stores an attempt that another one follows.
    ///
    /// - Returns: false when the job has to be settled: it was the last attempt, or a change by somebody else came
    ///   between.
    @inline(never)
    private nonisolated(nonsending) func retry(
        _ outcome: JobOutcome, after wait: Duration, telling report: AttemptReport?
    ) async throws(StoreError) -> Bool {
        let outcome = report.map { outcome.telling($0.callbacks([.attempt], isEnd: false)) } ?? outcome
        guard try await queue.retry(job, outcome, after: wait) else { return false }
        #if DEBUG
            CrashPoint.retryCommitted.pass()
        #endif
        dispatcher.intake.wake(after: wait)
        noteRetry(outcome, after: wait)
        return true
    }

    // What follows an `await` and awaits nothing is not inlined: frames of functions that wait would have room for its
    // values.

    @inline(never)
    private func noteRetry(_ outcome: JobOutcome, after wait: Duration) {
        callWorkers(for: outcome)
        dispatcher.metrics.countRetry(of: outcome)
        logger.notice(
            "job waits for another attempt",
            metadata: told(of: outcome, ["retry.wait": "\(wait)"])
        )
    }

    /// Stores the end of the job.
    private nonisolated(nonsending) func settle(
        _ outcome: JobOutcome, telling report: AttemptReport?
    ) async throws(StoreError) {
        let outcome = report.map { outcome.telling($0.callbacks(outcome.state.occasions, isEnd: true)) } ?? outcome
        noteEnd(outcome, isOurs: try await queue.settle(job, outcome))
    }

    @inline(never)
    private func noteEnd(_ outcome: JobOutcome, isOurs: Bool) {
        if isOurs { tellEnd(outcome) }
        dispatcher.metrics.count(outcome, isOurs: isOurs)
        log(outcome, isOurs: isOurs)
    }

    /// Ends a job whose outcome the database refuses: it would refuse that of the next attempt too (R3).
    @inline(never)
    private nonisolated(nonsending) func settleRefused(_ outcome: JobOutcome, because refusal: StoreError) async {
        logger.error("settling failed", metadata: told(["error": "\(refusal)"]))
        let error = LoadError(.cannotParseResponse, "What came of the job cannot be stored.")
        do throws(StoreError) {
            var failure = JobOutcome(failing: error, startedAt: outcome.startedAt)
            failure.callbacks = AttemptReport(of: job, failure, body: nil).callbacks([.failure], isEnd: true)
            let isOurs = try await queue.settle(job, failure)
            dispatcher.leave(dispatcher.queue.limiters(of: job))
            if isOurs { tellEnd(failure) }
        } catch {
            dispatcher.intake.noteUncertainCommit()
        }
    }

    /// Wakes the services that act on the end of the job, and tells its trace.
    private func tellEnd(_ outcome: JobOutcome) {
        dispatcher.runner.spans?.recordEnd(of: job, outcome)
        callWorkers(for: outcome)
        tellOthers()
    }

    /// Wakes who sends the events of the job's end, and who looks at its session and its group.
    private func tellOthers() {
        if job.mayHaveEvents { dispatcher.courier?.notify() }
        dispatcher.completionNotifier?.noteEnd(of: job)
    }

    private func callWorkers(for outcome: JobOutcome) {
        if !outcome.callbacks.isEmpty { dispatcher.intake.wake(for: [job.tenant]) }
    }

    private func log(_ outcome: JobOutcome, isOurs: Bool) {
        guard isOurs else {
            logger.notice("job fenced", metadata: told())
            return
        }
        // Thousands a second may succeed.
        logger.log(
            level: outcome.state == .succeeded ? .info : .notice,
            "job finished",
            metadata: told(of: outcome, ["job.state": "\(outcome.state.rawValue)"])
        )
    }

    /// What lines of the log tell of the job: whose it is and where it goes, without what a URL keeps secret.
    @inline(never)
    private func told(of outcome: JobOutcome? = nil, _ more: Logger.Metadata = [:]) -> Logger.Metadata {
        var metadata = more
        metadata["job.id"] = "\(job.id)"
        metadata["job.claim"] = "\(job.claim)"
        metadata["tenant.id"] = "\(job.tenant)"
        if let session = job.spec.session { metadata["session.id"] = "\(session)" }
        metadata.trace(job.attemptTrace(recordedBy: dispatcher.runner.spans))
        let url = job.url
        // Only of these schemes is it known where secrets may stand; a URL without a host may be all data.
        if let host = url.host, !host.isEmpty {
            metadata["url.host"] = "\(host)"
            if url.isHTTP || url.isFTP { metadata["url"] = "\(url.redacted)" }
        }
        if let name = outcome?.errorName { metadata["load.code"] = "\(name)" }
        if let status = outcome?.status { metadata["http.status"] = "\(status)" }
        return metadata
    }
}

extension JobState {
    /// What the end of a job in this state is, and the end of its attempt.
    fileprivate var occasions: Set<JobCallback.Occasion> {
        switch self {
        case .succeeded: [.attempt]
        case .failed: [.attempt, .failure]
        case .suspended, .scheduled, .queued, .running, .awaitingDecision, .cancelled: []
        }
    }
}

extension JobOutcome {
    /// The same with jobs that tell of it.
    @inline(never)
    fileprivate func telling(_ callbacks: [NewJob]) -> JobOutcome {
        var outcome = self
        outcome.callbacks = callbacks
        return outcome
    }
}
