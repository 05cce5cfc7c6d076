package import FetchEngine
package import FetchJobs
import Synchronization

/// Runs one job through the engine and says what came of it.
package struct JobRunner: Sendable {
    /// Where the steps between the transfer's callbacks run: the transfer's own loop, so that nothing has to hop.
    package let executor: any TaskExecutor
    private let sessions: TenantSessions
    private let blobs: any BlobStore

    /// - Parameters:
    ///   - configuration: The defaults of every session; jobs override them.
    ///   - makeSession: Makes the session of one tenant.
    package init(
        executor: any TaskExecutor,
        configuration: SessionConfiguration,
        blobs: any BlobStore,
        makeSession: @escaping @Sendable (SessionConfiguration) -> Session
    ) {
        self.executor = executor
        self.blobs = blobs
        sessions = TenantSessions(configuration: configuration, makeSession: makeSession)
    }

    /// Never throws: a failure is an outcome.
    package func run(_ job: ClaimedJob, stop: StopSwitch) async -> JobOutcome {
        let start = Timestamp.now
        let session = sessions.session(of: job.tenant)
        let task = session.dataTask(
            with: Request(job.spec.request),
            configuration: session.configuration.overridden(by: job.spec.configuration)
        )
        stop.attach(task)
        let result: Result<(Response, JobOutcome.Body?), LoadError>
        do throws(LoadError) {
            let response = try await task.response(bufferingUpTo: Blob.inlineLimit)
            result = .success((response, try await body(of: task)))
        } catch {
            result = .failure(error)
        }
        return JobOutcome(result, of: task, startedAt: start)
    }

    private func body(of task: DataTask) async throws(LoadError) -> JobOutcome.Body? {
        if let bytes = task.completeBody { return bytes.isEmpty ? nil : .inline(bytes) }
        return try await BlobSpool(blobs: blobs).store(task.body)
    }
}

/// The session of each tenant: tenants share no connection, cookie or credential (SEC-42).
private final class TenantSessions: Sendable {
    private let configuration: SessionConfiguration
    private let makeSession: @Sendable (SessionConfiguration) -> Session
    private let sessions = Mutex<[Tenant.ID: Session]>([:])

    init(
        configuration: SessionConfiguration,
        makeSession: @escaping @Sendable (SessionConfiguration) -> Session
    ) {
        self.configuration = configuration
        self.makeSession = makeSession
    }

    func session(of tenant: Tenant.ID) -> Session {
        sessions.withLock { sessions in
            if let session = sessions[tenant] { return session }
            let session = makeSession(configuration)
            sessions[tenant] = session
            return session
        }
    }
}
