package import FetchEngine
package import FetchJobs

/// Runs one job through the engine and says what came of it.
package struct JobRunner: Sendable {
    /// Where the transfers run, and the steps between their callbacks too, so that nothing has to hop.
    package let loop: TransferLoop
    private let sessions: EngineSessions
    private let stores: any SessionStores
    private let blobs: any BlobStore

    /// - Parameters:
    ///   - configuration: What sessions go by that set nothing.
    ///   - sessions: Where their own configurations are.
    ///   - stores: Where they keep cookies and credentials.
    ///   - makeSession: Makes a session of the engine.
    package init(
        loop: TransferLoop,
        configuration: SessionConfiguration,
        sessions: any SessionStore,
        stores: any SessionStores,
        blobs: any BlobStore,
        makeSession: @escaping @Sendable (SessionConfiguration) -> Session
    ) {
        self.loop = loop
        self.stores = stores
        self.blobs = blobs
        self.sessions = EngineSessions(
            defaults: configuration, sessions: sessions, stores: stores, makeSession: makeSession)
    }

    /// Runs a stored job: a failure of the load is an outcome.
    ///
    /// - Throws: When it cannot be learned what the job's session is.
    package nonisolated(nonsending) func run(
        _ job: ClaimedJob, stop: StopSwitch
    ) async throws(StoreError) -> JobOutcome {
        guard let session = try await sessions.session(of: job) else { return .sessionIsGone }
        // A job without settings of its own shares the session's, which costs nothing.
        let own = job.spec.configuration
        let configuration = own.isEmpty ? nil : session.engine.configuration.overridden(by: own)
        stores.require(job.stores, of: job.session)
        return await load(job, in: session.engine, configuration, session.authentication(of: own), stop) {
            (task) throws(LoadError) in
            let response = try await task.response(bufferingUpTo: Blob.inlineLimit)
            return (response, try await body(of: task))
        }
    }

    /// Runs a job whose body stays in memory, in a session that the caller has.
    ///
    /// - Parameter limit: How many bytes the body may have.
    nonisolated(nonsending) func run(
        _ job: ClaimedJob, in session: Session, upTo limit: Int, stop: StopSwitch
    ) async -> JobOutcome {
        var configuration = session.configuration.overridden(by: job.spec.configuration)
        configuration.maximumResponseBytes = min(configuration.maximumResponseBytes ?? .max, Int64(limit))
        return await load(job, in: session, configuration, job.spec.configuration.authentication, stop) {
            (task) throws(LoadError) in
            let response = try await task.response(bufferingUpTo: limit)
            if let bytes = task.completeBody { return (response, bytes.isEmpty ? nil : .inline(bytes)) }
            throw LoadError(.dataLengthExceedsMaximum, "The body has more bytes than memory has room for.")
        }
    }

    private nonisolated(nonsending) func load(
        _ job: ClaimedJob,
        in session: Session,
        _ configuration: SessionConfiguration?,
        _ rules: FetchJobs.Configuration.Authentication,
        _ stop: StopSwitch,
        receive: nonisolated(nonsending) (DataTask) async throws(LoadError) -> (Response, JobOutcome.Body?)
    ) async -> JobOutcome {
        let start = Timestamp.now
        var configuration = configuration
        let answerer: JobChallengeAnswerer?
        do throws(LoadError) {
            answerer = try await .forJob(job, rules, in: session, stores: stores, configuration: &configuration)
        } catch {
            return JobOutcome(failing: error, startedAt: start)
        }
        let task = session.dataTask(
            with: Request(job.spec.request), configuration: configuration, delegate: answerer)
        stop.attach(task)
        let result: Result<(Response, JobOutcome.Body?), LoadError>
        do throws(LoadError) { result = .success(try await receive(task)) } catch { result = .failure(error) }
        return JobOutcome(result, of: task, startedAt: start)
    }

    private nonisolated(nonsending) func body(of task: DataTask) async throws(LoadError) -> JobOutcome.Body? {
        if let bytes = task.completeBody { return bytes.isEmpty ? nil : .inline(bytes) }
        return try await BlobSpool(blobs: blobs).store(task.body)
    }
}

extension JobOutcome {
    /// The session was removed; it cannot be while it has jobs, unless somebody else changed the database.
    fileprivate static var sessionIsGone: JobOutcome {
        JobOutcome(
            failing: LoadError(.sessionInvalidated, "The session of the job is gone."), startedAt: .now)
    }
}
