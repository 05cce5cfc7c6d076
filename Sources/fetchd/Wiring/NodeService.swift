import EventLoop
import FetchAPI
import FetchEngine
import FetchJobs
import FetchRuntime
import FetchStorage
import FetchWorker
import Logging
import Postgres
import ServiceLifecycle

/// One node: brings the schema up to date, then runs the dispatcher, the courier and the server over it.
struct NodeService: Service {
    let settings: Settings
    let database: Database
    let forced: ForcedStop
    let metrics: MetricsRegistry
    let logger: Logger

    func run() async throws {
        try await database.waitUntilReady()
        if settings.migratesDatabase {
            for name in try await database.migrate() {
                logger.notice("migrated", metadata: ["migration.name": "\(name)"])
            }
        } else {
            try await database.examineSchema()
        }
        let ring = try MasterKeys.fire(settings)
        let keys = PostgresKeyStore(client: database.client, ring: ring)
        try await makeFirstKey(keys)
        try await refuseOpenDoor(keys)
        let node = try await RunningNode(
            settings: settings, database: database, ring: ring, forced: forced, metrics: metrics, logger: logger)
        try await withGracefulShutdownHandler {
            try await node.run()
        } onGracefulShutdown: {
            database.leave(within: settings.longestStop)
        }
    }

    /// Stores the key that the operator brings, where there is no other.
    ///
    /// One that was revoked is not made again.
    private func makeFirstKey(_ keys: PostgresKeyStore) async throws {
        guard let token = settings.bootstrapKey, try await !keys.hasKeys(),
            let key = try await keys.keep(token, APIKeySpec(name: "bootstrap"), for: .tenant(named: "default"))
        else { return }
        logger.notice("made the first API key, of FETCHD_BOOTSTRAP_KEY", metadata: ["key.id": "\(key.id)"])
    }

    /// Without a key, only this machine may reach the service.
    private func refuseOpenDoor(_ keys: PostgresKeyStore) async throws {
        guard !["127.0.0.1", "::1", "localhost"].contains(settings.server.host) else { return }
        guard try await keys.hasKeys() else {
            throw ExitError(
                .configuration,
                """
                without an API key the service listens on this machine only, not at \(settings.server.host): make a key \
                with "fetchd keys create", bring the first one by FETCHD_BOOTSTRAP_KEY, or leave --host out
                """
            )
        }
    }
}

/// The parts of a running node, put together.
private struct RunningNode {
    private let services: [any Service]
    private let logger: Logger

    init(
        settings: Settings, database: Database, ring: KeyRing, forced: ForcedStop, metrics: MetricsRegistry,
        logger: Logger
    ) async throws {
        let ownBlobs = try await FileBlobStore(directory: "\(settings.dataDirectory)/blobs")
        let roles = settings.roles
        let presence = NodePresence(volume: ownBlobs.volume, roles: roles)
        let id = presence.id
        let nodes = PostgresNodeDirectory(client: database.client, node: id)
        try await Self.refuseBodiesOutOfReach(settings, nodes, ownBlobs.volume)
        let logger = logger.with("node.id", "\(id)")
        self.logger = logger
        let export = settings.spanExport(of: "\(id)")
        let tracer = export.map { _ in
            Tracer(
                configuration: .init(sampler: settings.tracing.sampler, ratio: settings.tracing.ratio), metrics: metrics
            )
        }
        let waiters = CompletionWaiters()
        let live = LiveJobs()
        ProcessMetrics.report(to: metrics, descriptors: settings.descriptors.total)
        let descriptors = Self.descriptors(settings, metrics, logger)
        let area = try await FileDownloadArea(
            directory: "\(settings.dataDirectory)/downloads", descriptors: descriptors)
        let unfinished = UnfinishedUploads()
        let uploads = try await FileUploadArea(
            directory: "\(settings.dataDirectory)/uploads", volume: ownBlobs.volume, unfinished: unfinished)
        let webhooks = PostgresWebhookStore(
            client: database.client, genericPlan: database.genericPlan, ring: ring)
        let keys = TenantKeys(client: database.client, ring: ring)
        let engineLoop = TaskLoop(name: "fetchd-engine")
        let loop = TransferLoop(engineLoop, descriptors: descriptors)
        let stalls = StallMetrics(metrics)
        for loop in [engineLoop, database.loop] { stalls.begin(loop.name) }
        EventLoop.observeStalls { stalls.observe($0.loop, elapsed: $0.elapsed, worked: $0.worked) }
        let tls = try NodeTLS(settings, loop, logger: logger)
        try NodeTLS.checkSyslog(settings)
        let signIns = PostgresSignInStore(client: database.client, ring: ring)
        let objectStore = try await Self.objectStore(settings, loop)
        let blobs = CountedBlobStore(
            try await BlobVolumes(
                main: objectStore, own: ownBlobs,
                nodes: NodeBlobs(directory: nodes, client: tls.client) { () throws(StoreError) in
                    try await signIns.secret()
                },
                stagingDirectory: settings.stagingDirectory), metrics)
        let peers = Peers()
        let limiters = KnownLimiters(client: database.client)
        try await limiters.refresh()
        metrics.observe(.circuitsOpen) { Double(limiters.openCircuitCount(at: .now)) }
        let audit = PostgresAuditLog(client: database.client, logger: logger)
        let auditFollowers = settings.auditSinks.map { sink in
            AuditFollower(sink: sink, client: database.client, node: id, metrics: metrics, logger: logger)
        }
        let stores = PostgresSessionResources(
            client: database.client, keys: keys, node: id, peers: peers, blobs: blobs, cache: settings.cache,
            audit: audit,
            onRepeat: { [questions = metrics.questions] in questions[$0.rawValue, "remembered"].add() }, logger: logger)

        stores.cacheEvictor.report(to: metrics)
        let protocolStore = PostgresProtocolStore(client: database.client, ring: ring)
        let protocols = KnownProtocols(store: protocolStore)
        try await protocols.refresh()
        let ruleStore = PostgresServiceRuleStore(client: database.client)
        let rules = KnownServiceRules(store: ruleStore)
        try await rules.refresh()
        let egressStore = PostgresEgressStore(client: database.client)
        let egress = KnownEgress(EgressPolicies(standard: settings.targetPolicy), store: egressStore)
        try await egress.refresh()
        let refusals = RefusedTargets(metrics, audit: audit)
        let egressGuard = EgressGuard(known: egress, refusals: refusals)
        let reach = MessageReach(egress: egress, refusals: refusals)
        let resources = NodeResources(directory: settings.dataDirectory)
        resources.report(to: metrics)
        let intake = NodeIntake(
            concurrency: settings.dispatcher.concurrency, memory: resources.memory.map { Int($0 / 8) } ?? .max,
            lease: settings.dispatcher.lease, limits: limiters)
        let tenants = PostgresTenantStore(client: database.client)
        let tenantLimits = KnownTenantLimits(standard: settings.tenantLimits, store: tenants) { known in
            intake.setLimits(known.running)
        }
        try await tenantLimits.refresh()
        let quotas = TenantQuota.waitingJobs(of: tenantLimits, client: database.client)
        let sessionQuotas = TenantQuota.sessions(of: tenantLimits, client: database.client)
        let questionQuotas = TenantQuota.openQuestions(of: tenantLimits, client: database.client)
        let byteQuotas = TenantQuota.storedBytes(
            of: tenantLimits, client: database.client, unfinished: unfinished)
        let catalog = PostgresBlobCatalog(client: database.client, quota: byteQuotas)
        let traffic = TrafficMeter(
            store: PostgresTrafficStore(client: database.client, node: id), limits: tenantLimits)
        traffic.report(to: metrics)
        let dueDeliveries = Condition()
        let (open, askedQuestions) = (OpenQuestions(), AskedQuestions())
        let notifications = Notifications(
            client: database.client, node: id,
            onNotice: { notice in
                switch notice {
                case .jobs: intake.wake()
                case .deliveries: dueDeliveries.signal()
                case .look: intake.look()
                }
            }, onEnd: open.noteEnds(of:))
        let announce = { @Sendable (notice: Notice) in if peers.exist { notifications.announce(notice) } }
        let specs = StoredSpecs()
        let jobs = PostgresJobStore(
            client: database.client, genericPlan: database.genericPlan, keys: keys, node: id, limiters: limiters,
            quotas: quotas, specs: specs, intake: intake, waiters: waiters, announce: announce)
        let sessions = PostgresSessionStore(client: database.client, jobs: jobs, quota: sessionQuotas)
        let groups = PostgresGroupStore(client: database.client)
        let courier = WebhookCourier(
            configuration: settings.courier,
            queue: webhooks,
            jobs: jobs,
            sessions: sessions,
            groups: groups,
            session: Session(configuration: settings.session, transferLoop: loop),
            reach: reach,
            tracer: tracer,
            metrics: metrics,
            logger: logger,
            due: dueDeliveries
        )
        let sending: any Notifiable =
            roles.contains(.courier) ? courier : Announcement { announce(.deliveries) }
        let ephemeralQuestions = EphemeralQuestions(
            limits: tenantLimits, onAsk: askedQuestions.note, onEnd: open.finish)
        let questions = EphemeralQuestionStore(
            stored: PostgresQuestionStore(
                client: database.client, keys: keys, quota: questionQuotas,
                onAsk: askedQuestions.note, onEnd: open.finish,
                onRemember: { session, version in stores.require(StoresVersion(answers: version), of: session) },
                onDue: {
                    intake.wake()
                    announce(.jobs)
                },
                onEndOfHeld: { ends in notifications.announce(ends.filter { $0.value != id }) }),
            ephemeral: ephemeralQuestions)
        let judge = AnswerJudge(
            credentials: stores, blobs: catalog, refusal: egressGuard.refuseAnswer)
        let delegates = RemoteDelegates(
            store: questions, open: open, judge: judge, deliveries: webhooks,
            session: Session(configuration: settings.session, transferLoop: loop), reach: reach, intake: intake,
            live: live, node: id,
            hold: settings.hold, metrics: metrics, logger: logger)
        let completionNotifier = CompletionNotifier(
            sessions: sessions, groups: groups, courier: sending, logger: logger)
        let scheduleTimer = Timer()
        let makeSession = { @Sendable in Session(configuration: $0, transferLoop: loop) }
        let signingKeys = PostgresSigningKeyStore(client: database.client, keys: keys)
        let runner = JobRunner(
            loop: loop, configuration: settings.tenantSession, sessions: sessions, stores: stores, blobs: blobs,
            catalog: catalog, area: area, live: live, bandwidths: limiters.bandwidths, deliveries: webhooks,
            asking: delegates.asker, resuming: delegates.resumed,
            protocols: RemoteProtocols(
                known: protocols,
                session: makeSession(RemoteProtocols.sessionConfiguration(settings.session)), reach: reach),
            rules: rules, egress: egress, traffic: traffic, signingKeys: signingKeys,
            metrics: TransferMetrics(metrics), tracer: tracer,
            makeSession: makeSession)
        var dispatching = settings.dispatcher
        dispatching.runsJobs = roles.contains(.worker)
        let dispatcher = Dispatcher(
            configuration: dispatching,
            intake: intake,
            queue: PostgresWorkQueue(
                client: database.client, genericPlan: database.genericPlan, keys: keys, presence: presence,
                lease: settings.dispatcher.lease, maximumCrashes: settings.dispatcher.maximumCrashes,
                limiters: limiters,
                tenantLimits: tenantLimits, protocols: protocols, rules: rules, egress: egress, peers: peers,
                specs: specs,
                waiters: waiters
            ),
            runner: runner,
            courier: sending,
            // Elsewhere they are seen with the next heartbeat.
            completionNotifier: roles.contains(.scheduler) ? completionNotifier : nil,
            schedules: scheduleTimer,
            parkAll: delegates.parkAll,
            forced: forced,
            audit: audit,
            metrics: metrics,
            logger: logger
        )
        var ephemeralConfiguration = EphemeralSessions.Configuration()
        // So they alone never bring the node to where it refuses the work of everybody.
        if let memory = resources.memory { ephemeralConfiguration.maximumBytes = Int(memory / 4) }
        let ephemeral = EphemeralSessions(
            configuration: ephemeralConfiguration, node: id, runner: runner, defaults: settings.tenantSession,
            questions: ephemeralQuestions, waiters: waiters, makeSession: makeSession)
        let schedules = PostgresScheduleStore(
            client: database.client, jobs: jobs, keys: keys, onChange: scheduleTimer.notify)
        let urlGroups = PostgresURLGroupStore(client: database.client)
        let scheduler = Scheduler(
            schedules: schedules, making: ScheduledJobs(groups: urlGroups),
            check: TemplateCheck(sessions: sessions, endpoints: webhooks, credentials: stores, catalog: catalog),
            timer: scheduleTimer, horizon: settings.dispatcher.lease, metrics: metrics, tracer: tracer,
            logger: logger)
        let issuerKeys = IssuerKeySource(
            settings: settings, makeSession: makeSession)
        try await issuerKeys.checkFile()
        var serverConfiguration = settings.server
        serverConfiguration.tls = tls.server
        serverConfiguration.answersClients = roles.contains(.api)
        let server = Server(
            configuration: serverConfiguration,
            ports: Server.Ports(
                jobs: EphemeralJobStore(stored: jobs, sessions: sessions, ephemeral: ephemeral),
                statistics: jobs,
                figures: PostgresFiguresStore(client: database.client),
                sessions: EphemeralSessionStore(stored: sessions, ephemeral: ephemeral),
                snapshots: PostgresSnapshotStore(client: database.client),
                webhooks: PostgresWebhookStore(client: database.client, ring: ring, onDue: sending.notify),
                schedules: schedules,
                groups: groups,
                urlGroups: urlGroups,
                idempotency: PostgresIdempotencyStore(client: database.client, keys: keys),
                keys: PostgresKeyStore(client: database.client, ring: ring),
                signingKeys: signingKeys,
                issuerKeys: issuerKeys.text,
                askProvider: IdentityProviderClient(settings: settings, makeSession: makeSession).ask,
                tokenRevocations: PostgresTokenRevocationStore(client: database.client),
                signIns: signIns,
                tenants: tenants,
                tenantLimits: tenantLimits,
                traffic: traffic,
                protocols: protocolStore,
                knownProtocols: protocols,
                audit: audit,
                rules: ruleStore,
                knownRules: rules,
                egress: egressStore,
                knownEgress: egress,
                cookies: stores,
                cache: stores,
                credentials: stores,
                answers: stores,
                blobs: blobs,
                ownBlobs: ownBlobs,
                catalog: catalog,
                uploads: uploads,
                unfinished: unfinished,
                waiters: waiters,
                live: live,
                node: id,
                nodes: nodes,
                questions: questions,
                askedQuestions: askedQuestions,
                judge: judge,
                limiters: PostgresLimiterStore(
                    client: database.client, known: limiters, quotas: quotas, intake: intake,
                    announce: { announce(.look) }),
                nodeClient: tls.client,
                readiness: NodeReadiness(
                    client: database.client, intake: intake,
                    resources: resources, auditFollowers: auditFollowers,
                    objectStore: objectStore.map { ObjectStoreWatch($0) }),
                metrics: metrics,
                checkWebhookURL: egressGuard.refuseEndpoint,
                checkTarget: egressGuard.judge,
                defaults: { kind in
                    var defaults = FetchJobs.Configuration.ofJobs(settings.tenantSession.defaults(for: kind))
                    defaults.rules = rules.current.rules
                    return defaults
                },
                tracer: tracer
            ),
            logger: logger,
            forced: forced,
            onListening: { port in
                presence.listens(at: settings.nodeURL(port: port))
                // Others are to know it at once.
                await dispatcher.heartbeat()
                logger.notice(
                    "listening", metadata: ["server.url": "\(settings.scheme)://\(settings.server.host):\(port)"])
            }
        )
        // The first to start is the last to stop.
        let isScheduler = roles.contains(.scheduler)
        let pruner = Pruner(
            expiredRows: PostgresExpiredRowStore(client: database.client), retention: settings.retention,
            blobs: isScheduler ? blobs : ownBlobs, catalog: catalog, area: area, uploads: uploads,
            removesExpired: isScheduler, metrics: metrics, logger: logger)
        let watch = DatabaseWatch(client: database.client, patience: settings.databasePatience)
        let always: [any Service] = [
            watch, TaskThreadWatch(stalls: stalls), audit, stores.cacheEvictor, stores.credentialUses, delegates,
            TrafficWriter(meter: traffic, logger: logger), dispatcher, ephemeral, pruner,
        ]
        let ofRoles: [any Service] =
            (roles.contains(.scheduler) ? [completionNotifier, scheduler] : [])
            + (roles.contains(.courier) ? [courier] : [])
        let last: [any Service] = [
            notifications, quotas, sessionQuotas, questionQuotas, byteQuotas,
            BacklogSampler(client: database.client, metrics: metrics, logger: logger), server,
            server.announcement,
        ]
        let exporter = tracer.flatMap { tracer in
            export.map { export in
                SpanExporter(
                    configuration: export, tracer: tracer,
                    session: makeSession(SpanExporter.sessionConfiguration(settings.session)), metrics: metrics,
                    logger: logger)
            }
        }
        // The log gives the last entries their places before their followers hand them over.
        services = database.clients + auditFollowers + [exporter].compactMap(\.self) + always + ofRoles + last
    }

    /// The descriptors for transfers, reported by metrics and, when they are not enough, by the log.
    private static func descriptors(
        _ settings: Settings, _ metrics: MetricsRegistry, _ logger: Logger
    ) -> DescriptorBudget {
        let limits = settings.descriptors
        let budget = DescriptorBudget(limit: limits.transfers) {
            logger.warning(
                "loads wait for descriptors",
                metadata: ["descriptors.limit": "\(limits.total)", "descriptors.transfers": "\(limits.transfers)"])
        }
        metrics.observe(.connectionsOpen) { Double(budget.connections) }
        metrics.observe(.transferDescriptors) { Double(budget.used) }
        metrics.observe(.transferDescriptorsLimit) { Double(budget.limit) }
        metrics.observe(.loadsWaitingForDescriptors) { Double(budget.waiting) }
        metrics.observe(.descriptorShortages) { Double(budget.shortageCount) }
        return budget
    }

    /// Refuses data directories that other nodes could not read: whose bodies they are would be a matter of luck.
    private static func refuseBodiesOutOfReach(
        _ settings: Settings, _ nodes: PostgresNodeDirectory, _ volume: Volume
    ) async throws {
        guard settings.s3 == nil, let others = try await nodes.others(than: volume) else { return }
        let reason = "several nodes keep bodies in data directories of their own, and have to read each other's"
        guard settings.nodeURL(port: settings.server.port) != nil else {
            throw ExitError(
                .configuration,
                """
                FETCHD_NODE_URL: \(reason): this one listens at all addresses, so say how \(others.any) reaches it, or \
                give all nodes an object store (S3_ENDPOINT)
                """)
        }
        guard let silent = others.silent else { return }
        throw ExitError(
            .configuration,
            """
            S3_ENDPOINT: \(reason), but the node \(silent), which runs, has told no address: set FETCHD_NODE_URL there, \
            or give all nodes an object store
            """)
    }

    /// The object store that the operator has named; nil for data directories.
    private static func objectStore(_ settings: Settings, _ loop: TransferLoop) async throws -> S3BlobStore? {
        guard let s3 = settings.s3 else { return nil }
        let configuration = S3BlobStore.sessionConfiguration(settings.session)
        return try await S3BlobStore(s3, session: Session(configuration: configuration, transferLoop: loop))
    }

    func run() async throws {
        try await ServiceGroup(named: services, logger: logger).run()
    }
}

extension Settings {
    /// How long a stop takes at most: for balancers, for requests, and for jobs.
    fileprivate var longestStop: Duration { server.lameDuck + server.drainTimeout + dispatcher.drainTimeout }
}

extension FetchJobs.Configuration {
    /// The defaults of jobs: the settings of the engine, and the members that are applied where jobs run.
    static func ofJobs(_ session: SessionConfiguration) -> Self {
        var defaults = Self(of: session)
        defaults.cookies.jar = .session
        defaults.authentication.persistence = Credential.Persistence.none
        defaults.authentication.maximumFailures = 1
        defaults.authentication.onFailure = .performDefaultHandling
        defaults.response.decode = []
        defaults.response.multipartReplace = .last
        defaults.destination.allowOverwrite = false
        defaults.destination.keepPartial = true
        defaults.retry = .init(RetryPolicy())
        return defaults
    }
}

/// Tells other nodes of what they are to do.
private struct Announcement: Notifiable {
    let announce: @Sendable () -> Void

    func notify() { announce() }
}

/// A node is ready when its database answers, its worker lives, and its disk has room.
private struct NodeReadiness: FetchJobs.Readiness {
    let client: Client
    let intake: NodeIntake
    let resources: NodeResources
    let auditFollowers: [AuditFollower]
    let objectStore: ObjectStoreWatch?

    func overload(for tenant: Tenant.ID) -> Overload? {
        resources.overload ?? (intake.delays.areTooLong(for: tenant) ? .queueOld : nil)
    }

    var hasLiveWorker: Bool { intake.hasLiveWorker }

    func obstacles() async -> [String] {
        var obstacles: [String] = []
        if case .unavailable = client.state { obstacles.append("The database cannot be reached.") }
        // It may have lost what it runs, and the database may not answer it.
        if !intake.isAlive { obstacles.append("The node has not extended its lease lately.") }
        // While little memory is left, jobs that run go on, and requests are answered; a full disk has no place for
        // results.
        if resources.overload == .storageFull { obstacles.append("The disk of the data directory is nearly full.") }
        // A store that is away is so for all nodes, and what needs it waits; one that refuses this node may be a matter
        // of this node's settings.
        if case .refused(let reason) = await objectStore?.health() { obstacles.append(reason) }
        return obstacles
    }

    func remarks() async -> [String] {
        var remarks: [String] = []
        if intake.isAlive, !intake.hasLiveWorker { remarks.append("No node lives that runs jobs; they wait.") }
        if case .away = await objectStore?.health() {
            remarks.append("The object store does not answer; what needs it waits.")
        }
        for follower in auditFollowers { if let remark = await follower.remark { remarks.append(remark) } }
        return remarks
    }
}
