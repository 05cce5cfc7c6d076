package import FetchEngine
package import FetchJobs
package import FetchRuntime
import Glibc

/// Runs one job through the engine and returns its outcome.
package struct JobRunner: Sendable {
    /// The loop of the transfers and of the steps between their callbacks, so that nothing has to hop.
    package let loop: TransferLoop
    private let sessions: EngineSessions
    private let stores: any SessionResources
    private let blobs: any BlobStore
    private let catalog: any BlobCatalog
    private let area: any DownloadArea
    private let live: LiveJobs
    private let bandwidths: any BandwidthSource
    private let subscriptions: EventSubscriptions
    private let asking: QuestionAskers
    private let resuming: @Sendable (ClaimedJob) async throws(StoreError) -> ResumedLoad?
    /// The registered protocols, which sessions load beside the built-in ones; nil for none.
    let protocols: RemoteProtocols?
    let rules: KnownServiceRules?
    private let random: @Sendable () -> Double

    /// - Parameters:
    ///   - configuration: The configuration of sessions that set nothing.
    ///   - sessions: Reads the configurations of sessions.
    ///   - stores: The stores of sessions for cookies and credentials.
    ///   - live: The jobs that run here, for those who follow them.
    ///   - bandwidths: The bandwidths that jobs share.
    ///   - deliveries: Where the events of jobs are stored that endpoints want to be told of.
    ///   - asking: Who is asked what no rule decides.
    ///   - protocols: What sessions load beside the built-in protocols; nil for nothing.
    ///   - resuming: Finds what a job goes on with that was parked.
    ///   - rules: The rules of the service; nil for none.
    ///   - random: A number from 0 to 1, by which the waits between attempts vary.
    ///   - makeSession: Makes a session of the engine.
    package init(
        loop: TransferLoop,
        configuration: SessionConfiguration,
        sessions: any SessionStore,
        stores: any SessionResources,
        blobs: any BlobStore,
        catalog: any BlobCatalog,
        area: any DownloadArea,
        live: LiveJobs,
        bandwidths: any BandwidthSource,
        deliveries: any DeliveryQueue,
        asking: @escaping QuestionAskers = { _, _, _, _, _, _ in nil },
        resuming: @escaping @Sendable (ClaimedJob) async throws(StoreError) -> ResumedLoad? = { _ in nil },
        protocols: RemoteProtocols? = nil,
        rules: KnownServiceRules? = nil,
        random: @escaping @Sendable () -> Double = { .random(in: 0...1) },
        makeSession: @escaping @Sendable (SessionConfiguration) -> Session
    ) {
        self.loop = loop
        self.stores = stores
        self.blobs = blobs
        self.catalog = catalog
        self.area = area
        self.live = live
        self.bandwidths = bandwidths
        self.asking = asking
        self.protocols = protocols
        self.rules = rules
        self.resuming = resuming
        self.random = random
        subscriptions = EventSubscriptions(queue: deliveries)
        self.sessions = EngineSessions(
            defaults: configuration, sessions: sessions, stores: stores, protocols: protocols, makeSession: makeSession)
    }

    /// The session and the configuration of a job, found once; nil when its session is gone.
    ///
    /// - Throws: When the session of the job cannot be read.
    nonisolated(nonsending) func terms(of job: ClaimedJob) async throws(StoreError) -> JobTerms? {
        guard let session = try await sessions.session(of: job) else { return nil }
        return terms(of: job, in: session, session.configuration(with: job.spec.configuration))
    }

    /// What a job goes by in a session that the caller has.
    func terms(of job: ClaimedJob, in session: EngineSession, _ settings: FetchJobs.Configuration) -> JobTerms {
        JobTerms(of: job, in: session, settings: settings, rules?.current ?? ServiceRules())
    }

    /// Runs a stored job: a failure of the load is an outcome.
    ///
    /// - Parameter begin: Commits that a request is about to be sent that must not be repeated; when it returns false,
    ///   the request is not sent.
    /// - Throws: When the endpoint of its events, or the position at which it goes on, cannot be read for now.
    nonisolated(nonsending) func run(
        _ job: ClaimedJob, by terms: JobTerms, stop: StopSwitch, beginning begin: @escaping Beginning
    ) async throws(StoreError) -> JobOutcome {
        let session = terms.session
        // A job without settings of its own shares the session's, which costs nothing.
        let own = job.spec.configuration
        var configuration = own.isEmpty ? nil : session.engine.configuration.overridden(by: own)
        if let deadline = job.expiresAt {
            configuration = (configuration ?? session.engine.configuration).ending(by: deadline)
        }
        // A job may ask for cookies that its session does without, by default or by its configuration.
        if own.cookies.jar == .session { configuration?.httpCookieStorage = stores.cookieStorage(of: job.session) }
        if job.spec.kind == .download {
            configuration = configuration ?? session.engine.configuration
            // A coded body could not be continued in the middle.
            configuration?.offersContentCodings = false
        }
        var resumed: ResumedLoad?
        if job.resumesAt != nil {
            resumed = try await position(of: job)
            // From its beginning it might send a request twice that must be sent once.
            if resumed == nil { return .positionIsUnreadable }
        }
        // An answer before may have made another request of it.
        if terms.mayRepeat, let method = resumed?.load.position.method, !terms.mayRepeat(method), await !begin() {
            return JobOutcome(
                failing: stop.judged(LoadError(.cancelled, "The job is not this node's any more.")), startedAt: .now)
        }
        stores.require(job.stores, of: job.session)
        let live = live.add(job)
        defer { self.live.remove(live) }
        if let resumed { live.goOn(after: resumed.load.position.stepCount) }
        let recorder = try await subscriptions.recorder(of: job, in: session, live)
        let attempt: nonisolated(nonsending) () async -> JobOutcome = {
            await prepare(
                job, live, by: terms, configuration, mayBecomeDownload: true, stop, resuming: resumed,
                beginning: begin
            ) { load in
                let downloads = DownloadRun(load: load, blobs: blobs, catalog: catalog, area: area, stop: stop)
                guard job.spec.kind != .download else { return await downloads.run() }
                return await DataRun(load: load, blobs: blobs, downloads: downloads, stop: stop).run()
            }
        }
        return if let recorder { await recorder.record(attempt) } else { await attempt() }
    }

    /// The position from which a parked job goes on; nil when it is gone, or this node cannot read it.
    private nonisolated(nonsending) func position(of job: ClaimedJob) async throws(StoreError) -> ResumedLoad? {
        do throws(StoreError) { return try await resuming(job) } catch  where error.code != .unavailable { return nil }
    }

    /// Runs a job whose body stays in memory, in a session that the caller has.
    ///
    /// - Parameter limit: How many bytes the body may have.
    nonisolated(nonsending) func run(
        _ job: ClaimedJob, by terms: JobTerms, upTo limit: Int, stop: StopSwitch
    ) async -> JobOutcome {
        let session = terms.session.engine
        var configuration = session.configuration.overridden(by: job.spec.configuration)
        if let deadline = job.expiresAt { configuration = configuration.ending(by: deadline) }
        configuration.maximumResponseBytes = min(configuration.maximumResponseBytes ?? .max, Int64(limit))
        let live = live.add(job)
        defer { self.live.remove(live) }
        return await prepare(job, live, by: terms, configuration, mayBecomeDownload: false, stop) { load in
            await DataRun(load: load, stop: stop).runInMemory(upTo: limit)
        }
    }

    /// Makes the request with its body and its credentials, and runs it.
    private nonisolated(nonsending) func prepare(
        _ job: ClaimedJob,
        _ live: LiveJob,
        by terms: JobTerms,
        _ configuration: SessionConfiguration?,
        mayBecomeDownload: Bool,
        _ stop: StopSwitch,
        resuming resumed: ResumedLoad? = nil,
        beginning begin: @escaping Beginning = { true },
        run: nonisolated(nonsending) (PreparedLoad) async -> JobOutcome
    ) async -> JobOutcome {
        let (session, settings, retry) = (terms.session.engine, terms.settings, terms.retry)
        let start = Timestamp.now
        let deadline = job.deadline(from: start, (configuration ?? session.configuration).timeoutIntervalForResource)
        let credentials = NamedCredentials(stores: stores, job: job, session: session)
        let asker = asking(
            job, job.spec.configuration.delegate, terms.session.configuration.delegate, terms.settings,
            terms.session.kind, stop)
        // What cannot be read is not remembered: then somebody is asked.
        try? await terms.session.memory?.catchUp()
        let content = RequestContent(
            blobs: blobs, catalog: catalog, upload: live.upload, contentType: settings.upload.contentType)
        let decisions = JobDecisions(
            of: job, by: terms, asking: asker, credentials, content, mayBecomeDownload: mayBecomeDownload,
            resuming: resumed, beginning: begin)
        defer { for path in decisions?.copies ?? [] { unlink(path) } }
        do throws(LoadError) {
            var configuration = configuration
            if let named = settings.proxy.credential {
                var own = configuration ?? session.configuration
                own.proxies = try await credentials.showing(named, own.proxies)
                configuration = own
            }
            // The URL of a cached response is stored in clear.
            if job.spec.request.urlForm == .withoutQuery {
                configuration = configuration ?? session.configuration
                configuration?.urlCache = nil
            }
            let credential = try await credentials.ofServer(settings.authentication.credential)
            let answerer = await JobChallengeAnswerer.forJob(
                job, settings.authentication, in: session, stores: stores, credential: credential,
                configuration: &configuration)
            var (request, copies) = try await content.request(for: job.spec.request, of: job.tenant)
            defer { for path in copies { unlink(path) } }
            var position = resumed?.load.position
            if let body = resumed?.load.body {
                let prepared = try await content.content(of: body, tenant: job.tenant)
                copies += prepared.copies
                position?.content = prepared.body
            }
            if let protocols {
                do throws(StoreError) { try await protocols.prepare(&request, of: job) } catch {
                    throw LoadError(error)
                }
            }
            if let decisions, job.spec.runAt != nil, job.tries == 0 {
                request = try await decisions.beginning(request, in: configuration ?? session.configuration)
            }
            if let signature = credential?.signature(for: request.url), settings.authentication.allows(.awsSigV4) {
                try signature.sign(&request, at: .now)
                // It is good for a while only.
                decisions?.neverPark()
            }
            return await run(
                PreparedLoad(
                    job: job, session: session, request: request, position: position,
                    configuration: configuration, settings: settings,
                    answerer: answerer, decisions: decisions, live: live, retry: retry,
                    mayRepeatOwnRequest: terms.mayRepeat,
                    bandwidths: bandwidths, deadline: deadline, random: random))
        } catch {
            var outcome = JobOutcome(failing: error, startedAt: start)
            outcome.decisions = decisions?.json
            outcome.retryAfter = retry.wait(
                after: .init(code: error.code, wasSent: false), of: job, until: deadline, random: random())
            outcome.deadline = deadline
            return outcome
        }
    }
}

extension JobOutcome {
    fileprivate static var positionIsUnreadable: JobOutcome {
        JobOutcome(
            failing: LoadError(.cannotDecodeRawData, "The position at which the job was parked cannot be read."),
            startedAt: .now)
    }
}

extension NamedCredentials.Opened {
    /// The signature of requests for a URL; nil when they are not signed.
    fileprivate func signature(for url: URLRecord) -> SignatureV4? {
        guard let signature = SignatureV4(credential) else { return nil }
        let server = ProtectionSpace.Party(server: url)
        let space = ProtectionSpace(host: server.host, port: server.port, scheme: server.scheme, method: .awsSigV4)
        return covers(space) ? signature : nil
    }
}

extension RetryPolicy {
    func wait(
        after failure: Failure, of job: ClaimedJob, until deadline: Timestamp?, random: Double
    ) -> Duration? {
        wait(after: failure, of: job.spec.request, tries: job.tries, until: deadline, random: random)
    }
}

extension ClaimedJob {
    /// When the job is given up, if this is its first attempt and all attempts together may take so long.
    ///
    /// Later attempts were claimed with their deadline.
    fileprivate func deadline(from start: Timestamp, _ interval: Duration?) -> Timestamp? {
        guard tries == 0, let interval else { return expiresAt }
        let end = start.advanced(by: interval)
        return expiresAt.map { min($0, end) } ?? end
    }
}

extension SessionConfiguration {
    /// The same for a task that is given up at some time, which replaces its own deadline.
    fileprivate func ending(by deadline: Timestamp) -> SessionConfiguration {
        var result = self
        let rest = Duration.microseconds(max(1000, deadline.microseconds - Timestamp.now.microseconds))
        result.timeoutIntervalForResource = min(result.timeoutIntervalForResource ?? rest, rest)
        return result
    }
}
