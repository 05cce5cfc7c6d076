package import FetchEngine
package import FetchJobs
package import FetchRuntime
import Glibc
import HTTPTypes

/// Runs one job through the engine and returns its outcome.
///
/// An object, since every job has it, and its parts are many.
package final class JobRunner: Sendable {
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
    private let egress: KnownEgress?
    private let traffic: TrafficMeter?
    /// What requests are signed with that want a signature; nil where none is.
    private let signingKeys: (any SigningKeyStore)?
    private let metrics: TransferMetrics?
    /// Takes the spans of jobs; nil for nobody.
    let spans: JobSpans?
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
    ///   - egress: Where loads may go; nil for where the configuration lets them.
    ///   - traffic: Counts what loads have moved; nil for nobody.
    ///   - signingKeys: What requests are signed with that want a signature; nil where none is.
    ///   - metrics: Counts what loads have done on the network; nil for nobody.
    ///   - tracer: Takes the spans of jobs; nil for nobody.
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
        egress: KnownEgress? = nil,
        traffic: TrafficMeter? = nil,
        signingKeys: (any SigningKeyStore)? = nil,
        metrics: TransferMetrics? = nil,
        tracer: Tracer? = nil,
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
        self.egress = egress
        self.traffic = traffic
        self.signingKeys = signingKeys
        self.metrics = metrics
        spans = tracer.map { JobSpans($0) }
        self.resuming = resuming
        self.random = random
        subscriptions = EventSubscriptions(queue: deliveries)
        self.sessions = EngineSessions(
            defaults: configuration, sessions: sessions, stores: stores, protocols: protocols, egress: egress,
            makeSession: makeSession)
    }

    /// The session and the configuration of a job, found once; nil when its session is gone.
    ///
    /// Not inlined, as all that is done before a load: frames of those that wait for the load would have room for it.
    ///
    /// - Throws: When the session of the job cannot be read.
    @inline(never)
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
    @inline(never)
    nonisolated(nonsending) func run(
        _ job: ClaimedJob, by terms: JobTerms, stop: StopSwitch, beginning begin: @escaping Beginning
    ) async throws(StoreError) -> SharedOutcome {
        let configuration = configuration(of: job, by: terms)
        var resumed: ResumedLoad?
        if job.resumesAt != nil {
            resumed = try await position(of: job)
            // From its beginning it might send a request twice that must be sent once.
            if resumed == nil { return positionIsUnreadable() }
        }
        // An answer before may have made another request of it.
        if terms.mayRepeat, let method = resumed?.load.position.method, !terms.mayRepeat(method), await !begin() {
            return notOurs(stop)
        }
        stores.require(job.stores, of: job.session)
        let live = live.add(job)
        defer { self.live.remove(live) }
        if let resumed { live.goOn(after: resumed.load.position.stepCount) }
        let recorder = try await subscriptions.recorder(of: job, in: terms.session, live)
        let attempt: nonisolated(nonsending) () async -> SharedOutcome = { [self] in
            await load(
                job, live, by: terms, configuration, mayBecomeDownload: true, stop, resuming: resumed,
                beginning: begin
            ) { load in
                let downloads = downloads(of: load, stop)
                guard job.spec.kind != .download else { return await downloads.run() }
                return await DataRun(load: load, blobs: downloads.blobs, downloads: downloads, stop: stop).run()
            }
        }
        return if let recorder { await recorder.record(attempt) } else { await attempt() }
    }

    @inline(never)
    private func downloads(of load: PreparedLoad, _ stop: StopSwitch) -> DownloadRun {
        DownloadRun(load: load, blobs: PatientBlobStore(blobs, stop: stop), catalog: catalog, area: area, stop: stop)
    }

    @inline(never)
    private func configuration(of job: ClaimedJob, by terms: JobTerms) -> AttemptConfiguration {
        let configuration = AttemptConfiguration(of: job, in: terms.session.engine, targets: targets(of: job))
        // A job may ask for cookies that its session does without, by default or by its configuration.
        if job.spec.configuration.cookies.jar == .session {
            configuration.change { $0.httpCookieStorage = stores.cookieStorage(of: job.session) }
        }
        return configuration
    }

    /// Where the job may go from now on: read once, so that all hops of an attempt are judged alike.
    private func targets(of job: ClaimedJob) -> TargetPolicy? { egress?.policy(of: job.tenant) }

    /// The position from which a parked job goes on; nil when it is gone, or this node cannot read it.
    @inline(never)
    private nonisolated(nonsending) func position(of job: ClaimedJob) async throws(StoreError) -> ResumedLoad? {
        do throws(StoreError) { return try await resuming(job) } catch  where error.code != .unavailable { return nil }
    }

    /// Runs a job whose body stays in memory, in a session that the caller has.
    ///
    /// - Parameters:
    ///   - limit: How many bytes the body may have.
    ///   - take: Takes memory for so many more bytes of it; false when there is none.
    nonisolated(nonsending) func run(
        _ job: ClaimedJob, by terms: JobTerms, upTo limit: Int, taking take: @escaping @Sendable (Int) -> Bool,
        stop: StopSwitch
    ) async -> SharedOutcome {
        let configuration = AttemptConfiguration(of: job, in: terms.session.engine, targets: targets(of: job))
        configuration.change { $0.maximumResponseBytes = min($0.maximumResponseBytes ?? .max, Int64(limit)) }
        let live = live.add(job)
        defer { self.live.remove(live) }
        return await load(job, live, by: terms, configuration, mayBecomeDownload: false, stop) { load in
            await DataRun(load: load, take: take, stop: stop).run()
        }
    }

    /// Prepares the load of a job, and runs it.
    ///
    /// Not inlined into its callers, whose frames would have room for it more than once.
    @inline(never)
    private nonisolated(nonsending) func load(
        _ job: ClaimedJob,
        _ live: LiveJob,
        by terms: JobTerms,
        _ configuration: AttemptConfiguration,
        mayBecomeDownload: Bool,
        _ stop: StopSwitch,
        resuming resumed: ResumedLoad? = nil,
        beginning begin: @escaping Beginning = { true },
        run: nonisolated(nonsending) (PreparedLoad) async -> SharedOutcome
    ) async -> SharedOutcome {
        let start = Timestamp.now
        let deadline = job.deadline(from: start, configuration.timeoutIntervalForResource)
        var decisions: JobDecisions?
        var copies: [String] = []
        defer { removeCopies(copies, decisions) }
        do throws(LoadError) {
            let load = try await prepared(
                job, live, by: terms, configuration, mayBecomeDownload: mayBecomeDownload, stop, resuming: resumed,
                beginning: begin, until: deadline, &decisions, copies: &copies)
            let outcome = await run(load)
            noteEnd(outcome, of: job, stop)
            return outcome
        } catch {
            return unprepared(job, by: terms, error, stop, decisions, startedAt: start, until: deadline)
        }
    }

    // What comes before and after the load is not inlined: its values would have room in the frame of ``load`` while
    // that waits.

    /// - Parameters:
    ///   - decisions: Gets the decisions of the job while it runs; nil when nothing is asked.
    ///   - copies: Gets the files that were made for the load, which go when it is over.
    @inline(never)
    private nonisolated(nonsending) func prepared(
        _ job: ClaimedJob, _ live: LiveJob, by terms: JobTerms, _ configuration: AttemptConfiguration,
        mayBecomeDownload: Bool, _ stop: StopSwitch, resuming resumed: ResumedLoad?,
        beginning begin: @escaping Beginning, until deadline: Timestamp?, _ decisions: inout JobDecisions?,
        copies: inout [String]
    ) async throws(LoadError) -> PreparedLoad {
        // What cannot be read is not remembered: then somebody is asked.
        try? await terms.session.memory?.catchUp()
        let credentials = NamedCredentials(stores: stores, job: job, session: terms.session.engine)
        var content = RequestContent(
            blobs: PatientBlobStore(blobs, stop: stop), catalog: catalog, upload: live.upload,
            contentType: terms.settings.upload.contentType)
        content.spool = spool(of: job, by: terms, configuration, stop, until: deadline)
        decisions = JobDecisions(
            of: job, by: terms, asking: asker(of: job, by: terms, stop), credentials, content,
            mayBecomeDownload: mayBecomeDownload, resuming: resumed, beginning: begin)
        let parts = try await parts(
            of: job, by: terms, configuration, credentials, content, decisions, resuming: resumed, copies: &copies)
        if content.spool != nil, let deadline { configuration.end(by: deadline) }
        return PreparedLoad(
            job: job, parts, decisions: decisions, by: terms, configuration.own, live: live, bandwidths: bandwidths,
            deadline: deadline, random: random)
    }

    @inline(never)
    private func spool(
        of job: ClaimedJob, by terms: JobTerms, _ configuration: AttemptConfiguration, _ stop: StopSwitch,
        until deadline: Timestamp?
    ) -> BodySpool? {
        guard job.spec.request.body == .stream, let most = terms.settings.upload.spoolBytes else { return nil }
        return BodySpool(
            blobs: PatientBlobStore(blobs, stop: stop), catalog: catalog, tenant: job.tenant, maximumBytes: most,
            patience: configuration.timeoutIntervalForRequest, deadline: deadline, stop: stop)
    }

    @inline(never)
    private func removeCopies(_ copies: [String], _ decisions: JobDecisions?) {
        for path in copies + (decisions?.copies ?? []) { unlink(path) }
    }

    @inline(never)
    private func noteEnd(_ outcome: SharedOutcome, of job: ClaimedJob, _ stop: StopSwitch) {
        // A load that was parked goes on with what it has moved before.
        if case .parked = stop.reason { return }
        traffic?.note(outcome.value.traffic, of: job.tenant)
        note(outcome.value, of: job)
    }

    /// The outcome of a load that could not be prepared.
    @inline(never)
    private func unprepared(
        _ job: ClaimedJob, by terms: JobTerms, _ error: LoadError, _ stop: StopSwitch, _ decisions: JobDecisions?,
        startedAt start: Timestamp, until deadline: Timestamp?
    ) -> SharedOutcome {
        var outcome = JobOutcome(failing: stop.judged(error), startedAt: start)
        outcome.decisions = decisions?.json
        outcome.retryAfter = terms.retry.wait(
            after: .init(code: error.code, wasSent: false), of: job, until: deadline, random: random())
        outcome.deadline = deadline
        note(outcome, of: job)
        return SharedOutcome(outcome)
    }

    @inline(never)
    private func positionIsUnreadable() -> SharedOutcome {
        SharedOutcome(
            failing: LoadError(.cannotDecodeRawData, "The position at which the job was parked cannot be read."),
            startedAt: .now)
    }

    @inline(never)
    private func notOurs(_ stop: StopSwitch) -> SharedOutcome {
        SharedOutcome(
            failing: stop.judged(LoadError(.cancelled, "The job is not this node's any more.")), startedAt: .now)
    }

    /// What the callbacks of a job tell of its attempt: a body that cannot be read now is left out.
    nonisolated(nonsending) func report(of job: ClaimedJob, _ outcome: JobOutcome) async -> AttemptReport {
        AttemptReport(of: job, outcome, body: await body(of: outcome))
    }

    private nonisolated(nonsending) func body(of outcome: JobOutcome) async -> [UInt8]? {
        switch outcome.body {
        case nil: return nil
        case .inline(let bytes): return bytes
        case .blob(let blob):
            guard blob.bytes <= JobCallback.maximumBytes else { return nil }
            do throws(StoreError) {
                let reader = try await blobs.open(blob.id, range: 0..<blob.bytes)
                var bytes: [UInt8] = []
                while let chunk = try await reader.next() { bytes += chunk }
                return bytes
            } catch {
                return nil
            }
        }
    }

    /// Counts and traces what is not stored of an outcome.
    @inline(never)
    private func note(_ outcome: JobOutcome, of job: ClaimedJob) {
        if let observation = outcome.observation { metrics?.count(observation) }
        spans?.recordAttempt(of: job, outcome)
    }

    /// Lets servers go on with the trace of a job, unless the job, or its session, has fields of its own for that.
    @inline(never)
    private func trace(_ request: inout Request, of job: ClaimedJob, _ configuration: AttemptConfiguration) {
        guard request.url.isHTTP, let trace = job.attemptTrace(recordedBy: spans) else { return }
        let hasOwn = [request.headerFields, configuration.additionalHeaders].contains { fields in
            fields[.traceparent] != nil || fields[.tracestate] != nil
        }
        if !hasOwn { trace.write(to: &request.headerFields) }
    }

    /// Adds the fields that are made for each attempt.
    @inline(never)
    private nonisolated(nonsending) func addAttemptHeaders(
        to request: inout Request, of job: ClaimedJob
    ) async throws(LoadError) {
        for field in job.spec.request.attemptHeaders {
            switch field.content {
            case .job: request.headerFields[field.name] = job.id.description
            case .retries: request.headerFields[field.name] = String(job.tries)
            case .signature: request.headerFields[field.name] = try await signature(field, of: request, job)
            }
        }
    }

    private nonisolated(nonsending) func signature(
        _ field: AttemptField, of request: Request, _ job: ClaimedJob
    ) async throws(LoadError) -> String {
        guard let signingKeys else {
            throw LoadError(.userAuthenticationRequired, "There are no keys here that requests are signed with.")
        }
        let body: [UInt8] = if case .bytes(let bytes) = request.body { bytes } else { [] }
        do throws(StoreError) {
            let keys = try await signingKeys.signingKeys(of: job.tenant)
            return RequestSignature(issuer: field.issuer, url: request.url.description, body: body)
                .token(signedWith: keys.current)
        } catch {
            throw LoadError(error)
        }
    }

    @inline(never)
    private func asker(of job: ClaimedJob, by terms: JobTerms, _ stop: StopSwitch) -> (any QuestionAsker)? {
        asking(
            job, job.spec.configuration.delegate, terms.session.configuration.delegate, terms.settings,
            terms.session.kind, stop)
    }

    /// Where a load goes on that was parked, with its body.
    @inline(never)
    private nonisolated(nonsending) func position(
        of job: ClaimedJob, _ load: ParkedLoad, _ content: RequestContent, copies: inout [String]
    ) async throws(LoadError) -> LoadPosition {
        var position = load.position
        if let body = load.body {
            let prepared = try await content.content(of: body, tenant: job.tenant)
            copies += prepared.copies
            position.content = prepared.body
        }
        return position
    }

    /// Makes the request of a job, with its body and what it may show to servers.
    ///
    /// - Parameter copies: Gets the files that were made for it, which go when the load is over.
    private nonisolated(nonsending) func parts(
        of job: ClaimedJob,
        by terms: JobTerms,
        _ configuration: AttemptConfiguration,
        _ credentials: NamedCredentials,
        _ content: RequestContent,
        _ decisions: JobDecisions?,
        resuming resumed: ResumedLoad?,
        copies: inout [String]
    ) async throws(LoadError) -> PreparedLoad.Parts {
        if let named = terms.settings.proxy.credential {
            let proxies = try await credentials.showing(named, configuration.proxies)
            configuration.change { $0.proxies = proxies }
        }
        let credential = try await credentials.ofServer(terms.settings.authentication.credential)
        let answerer = await JobChallengeAnswerer.forJob(
            job, terms.settings.authentication, stores: stores, credential: credential, configuration: configuration)
        var (request, made) = try await content.request(for: job.request, of: job.tenant)
        copies += made
        request.bodyCoding = terms.settings.upload.coding
        if request.url.isHTTP { request.tell(priority: job.spec.priority) }
        if !job.spec.request.attemptHeaders.isEmpty {
            try await addAttemptHeaders(to: &request, of: job)
            // They are good for this attempt only.
            decisions?.neverPark()
        }
        if terms.settings.request.sendsTraceContext == true { trace(&request, of: job, configuration) }
        var position: LoadPosition?
        if let resumed { position = try await self.position(of: job, resumed.load, content, copies: &copies) }
        if let protocols {
            do throws(StoreError) { try await protocols.prepare(&request, of: job) } catch {
                throw LoadError(error)
            }
        }
        if let decisions, job.spec.runAt != nil, job.tries == 0 {
            request = try await decisions.beginning(request, in: configuration)
        }
        if let credential, credential.isFor(job), let signature = credential.signature(for: request.url),
            terms.settings.authentication.allows(.awsSigV4)
        {
            try signature.sign(&request, at: .now)
            // It is good for a while only.
            decisions?.neverPark()
        }
        return PreparedLoad.Parts(request: request, position: position, answerer: answerer)
    }
}

extension NamedCredentials.Opened {
    /// Whether it may be shown to the server of a mirror: one that came with the job is for that of the job's URL.
    fileprivate func isFor(_ job: ClaimedJob) -> Bool {
        space != nil
            || ProtectionSpace.Party(server: job.url) == ProtectionSpace.Party(server: job.spec.request.url)
    }

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
    @inline(never)
    fileprivate func deadline(from start: Timestamp, _ interval: Duration?) -> Timestamp? {
        guard tries == 0, let interval else { return expiresAt }
        let end = start.advanced(by: interval)
        return expiresAt.map { min($0, end) } ?? end
    }
}
