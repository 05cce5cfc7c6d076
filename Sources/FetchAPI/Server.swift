package import FetchJobs
package import FetchRuntime
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import NIOPosix
package import ServiceLifecycle

/// The HTTP server: the API, the dashboard, and the routes for operators of the service.
package struct Server: Service {
    package struct Configuration: Sendable {
        /// The address to listen at.
        package var host = "127.0.0.1"
        /// 0 takes one that is free; ``Server/init(configuration:ports:logger:onListening:)`` tells which.
        package var port = 8080
        /// Whether clients are answered; if not, only other nodes are, and who asks for the health or the metrics.
        package var answersClients = true
        /// The certificate to show; nil for a server without TLS.
        package var tls: ServerTLS?
        /// Beyond it idle connections are closed, and then only requests for the server's health are answered.
        package var maximumConnections = 10_000
        /// Those from one address, unless it is a trusted proxy's; nil for half of all.
        package var maximumConnectionsPerAddress: Int?
        /// Calls of one tenant that are being answered; nil for half of all connections.
        package var maximumCallsPerTenant: Int?
        /// The proxies whose statements about their clients are believed.
        package var trustedProxies = TrustedProxies()
        /// The web pages that may speak to aria2's door.
        package var aria2Origins = AllowedOrigins()
        /// A port for clients of aria2 on this machine, who need no secret; nil for none.
        package var aria2Listener: Aria2Listener?
        /// The name of the tenant whose downloads these are.
        package var aria2Tenant = "default"
        /// Failed authentications of one address in a minute.
        package var authenticationFailuresPerAddress = 10
        /// Failed authentications of all addresses in a minute.
        package var authenticationFailures = 1000
        /// How many bytes a blob may have.
        package var maximumBlobBytes: Int64 = 64 << 30
        /// The schemes that jobs may load besides http and https.
        package var schemes = OptionalSchemes()
        /// Which JSON Web Tokens are taken beside API keys; nil for none.
        package var tokens: TokenPolicy?
        /// What the dashboard shows operators of the settings of this node.
        package var settings: [ShownSetting] = []
        /// The version of the program.
        package var version = ""
        /// The number of the last migration that the program knows.
        package var schemaVersion = 0
        /// How long everything goes on once the server is asked to stop, with nothing but its readiness and the ends of
        /// connections to tell of it: so long balancers may send it further requests.
        package var lameDuck = Duration.zero
        /// How long requests may go on after that; then their connections are closed.
        package var drainTimeout = Duration.seconds(10)
        /// Who may sign in to the dashboard by OpenID Connect; nil for nobody.
        package var openID: OpenIDPolicy?
        /// Pages of the dashboard that one tenant gets in a second: more than people open, and few enough that drawing
        /// them leaves jobs their time.
        var maximumPagesPerSecond: Int64 = 50
        /// How long a connection may take.
        var connection = ConnectionGuard.Limits()

        package init() {}
    }

    /// The parts of the service that the server needs.
    package struct Ports: Sendable {
        package let jobs: any JobStore
        package let statistics: any StatisticsStore
        package let figures: any FiguresStore
        package let sessions: any SessionStore
        package let snapshots: any SnapshotStore
        package let webhooks: any WebhookStore
        package let schedules: any ScheduleStore
        package let groups: any GroupStore
        package let urlGroups: any URLGroupStore
        package let idempotency: any IdempotencyStore
        package let keys: any KeyStore
        package let signingKeys: any SigningKeyStore
        /// Reads the JSON Web Key Set of ``Configuration/tokens``.
        package let issuerKeys: @Sendable () async throws -> [UInt8]
        /// Asks the provider of ``Configuration/openID``.
        package let askProvider: ProviderClient
        package let tokenRevocations: any TokenRevocationStore
        package let signIns: any SignInStore
        package let tenants: any TenantStore
        package let tenantLimits: KnownTenantLimits
        package let traffic: TrafficMeter
        package let protocols: any ProtocolStore
        package let knownProtocols: KnownProtocols
        package let audit: any AuditLog
        package let rules: any ServiceRuleStore
        package let knownRules: KnownServiceRules
        package let egress: any EgressStore
        package let knownEgress: KnownEgress
        package let cookies: any CookieCatalog
        package let cache: any CacheStore
        package let credentials: any CredentialCatalog
        package let answers: any AnswerCatalog
        package let blobs: any BlobStore
        /// Those in the data directory of this node, which other nodes ask for.
        package let ownBlobs: any BlobStore
        package let catalog: any BlobCatalog
        package let uploads: any UploadArea
        package let unfinished: UnfinishedUploads
        package let waiters: CompletionWaiters
        package let live: LiveJobs
        /// This node.
        package let node: Node.ID
        /// Where the others are.
        package let nodes: any NodeDirectory
        package let questions: any QuestionStore
        package let askedQuestions: AskedQuestions
        package let judge: AnswerJudge
        package let limiters: any LimiterStore
        package let nodeClient: any NodeClient
        package let readiness: any Readiness
        package let metrics: MetricsRegistry
        package let checkWebhookURL: WebhookURLCheck
        package let checkTarget: TargetCheck
        /// The defaults of jobs and sessions.
        package let defaults: @Sendable (SessionSpec.Kind) -> FetchJobs.Configuration
        /// Takes the spans of requests; nil for nobody.
        package let tracer: Tracer?

        package init(
            jobs: any JobStore,
            statistics: any StatisticsStore,
            figures: any FiguresStore,
            sessions: any SessionStore,
            snapshots: any SnapshotStore,
            webhooks: any WebhookStore,
            schedules: any ScheduleStore,
            groups: any GroupStore,
            urlGroups: any URLGroupStore,
            idempotency: any IdempotencyStore,
            keys: any KeyStore,
            signingKeys: any SigningKeyStore,
            issuerKeys: @escaping @Sendable () async throws -> [UInt8],
            askProvider: @escaping ProviderClient,
            tokenRevocations: any TokenRevocationStore,
            signIns: any SignInStore,
            tenants: any TenantStore,
            tenantLimits: KnownTenantLimits,
            traffic: TrafficMeter,
            protocols: any ProtocolStore,
            knownProtocols: KnownProtocols,
            audit: any AuditLog,
            rules: any ServiceRuleStore,
            knownRules: KnownServiceRules,
            egress: any EgressStore,
            knownEgress: KnownEgress,
            cookies: any CookieCatalog,
            cache: any CacheStore,
            credentials: any CredentialCatalog,
            answers: any AnswerCatalog,
            blobs: any BlobStore,
            ownBlobs: any BlobStore,
            catalog: any BlobCatalog,
            uploads: any UploadArea,
            unfinished: UnfinishedUploads,
            waiters: CompletionWaiters,
            live: LiveJobs,
            node: Node.ID,
            nodes: any NodeDirectory,
            questions: any QuestionStore,
            askedQuestions: AskedQuestions,
            judge: AnswerJudge,
            limiters: any LimiterStore,
            nodeClient: any NodeClient,
            readiness: any Readiness,
            metrics: MetricsRegistry,
            checkWebhookURL: @escaping WebhookURLCheck,
            checkTarget: @escaping TargetCheck,
            defaults: @escaping @Sendable (SessionSpec.Kind) -> FetchJobs.Configuration,
            tracer: Tracer? = nil
        ) {
            self.jobs = jobs
            self.statistics = statistics
            self.figures = figures
            self.sessions = sessions
            self.snapshots = snapshots
            self.webhooks = webhooks
            self.schedules = schedules
            self.groups = groups
            self.urlGroups = urlGroups
            self.idempotency = idempotency
            self.keys = keys
            self.signingKeys = signingKeys
            self.issuerKeys = issuerKeys
            self.askProvider = askProvider
            self.tokenRevocations = tokenRevocations
            self.signIns = signIns
            self.tenants = tenants
            self.tenantLimits = tenantLimits
            self.traffic = traffic
            self.protocols = protocols
            self.knownProtocols = knownProtocols
            self.audit = audit
            self.rules = rules
            self.knownRules = knownRules
            self.egress = egress
            self.knownEgress = knownEgress
            self.cookies = cookies
            self.cache = cache
            self.credentials = credentials
            self.answers = answers
            self.blobs = blobs
            self.ownBlobs = ownBlobs
            self.catalog = catalog
            self.uploads = uploads
            self.unfinished = unfinished
            self.waiters = waiters
            self.live = live
            self.node = node
            self.nodes = nodes
            self.questions = questions
            self.askedQuestions = askedQuestions
            self.judge = judge
            self.limiters = limiters
            self.nodeClient = nodeClient
            self.readiness = readiness
            self.metrics = metrics
            self.checkWebhookURL = checkWebhookURL
            self.checkTarget = checkTarget
            self.defaults = defaults
            self.tracer = tracer
        }
    }

    private let configuration: Configuration
    let responder: Responder
    private let connections: OpenConnections
    private let keyUses: KeyUses
    private let aria2Watch: Aria2Watch
    private let aria2OpenDoor: Aria2OpenDoor
    private let tokens: TokenAuthenticator?
    private let provider: IdentityProvider?
    private let stalls: StallMetrics
    private let logger: Logger
    private let forced: ForcedStop
    private let onListening: @Sendable (Int) async -> Void

    /// - Parameters:
    ///   - forced: Ends the time that requests have at a stop.
    ///   - onListening: Told the port once connections are accepted.
    package init(
        configuration: Configuration,
        ports: Ports,
        logger: Logger,
        forced: ForcedStop = ForcedStop(),
        onListening: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.logger = logger
        self.forced = forced
        self.onListening = onListening
        stalls = StallMetrics(ports.metrics)
        let limiter = FailureLimiter(
            limit: configuration.authenticationFailuresPerAddress,
            totalLimit: configuration.authenticationFailures
        )
        tokens = configuration.tokens.map { policy in
            TokenAuthenticator(
                policy: policy,
                keys: KnownIssuerKeys(interval: policy.refreshInterval, logger: logger, load: ports.issuerKeys),
                tenants: ports.tenants, revocations: ports.tokenRevocations, metrics: ports.metrics)
        }
        provider = configuration.openID.map { IdentityProvider($0, logger: logger, ask: ports.askProvider) }
        let authenticator = Authenticator(
            store: ports.keys, limiter: limiter, proxies: configuration.trustedProxies, tokens: tokens, logger: logger)
        keyUses = authenticator.uses
        connections = OpenConnections(
            limits: OpenConnections.Limits(configuration), proxies: configuration.trustedProxies)
        let watch = Aria2Watch(jobs: ports.jobs, keys: ports.keys)
        aria2Watch = watch
        aria2OpenDoor = Aria2OpenDoor(of: configuration.aria2Tenant, in: ports.tenants)
        ports.metrics.observe(.httpConnections) { [connections] in
            Double(connections.count)
        }
        responder = Responder(
            answersClients: configuration.answersClients,
            table: RouteTable(
                Self.routes(ports, configuration, authenticator, provider, watch) { [connections] in
                    connections.areLeaving
                }),
            authenticator: authenticator,
            authorization: Authorization(jobs: ports.jobs),
            streamTokens: StreamTokens(keys: ports.keys, signIns: ports.signIns, authenticator: authenticator),
            connections: connections,
            gate: TenantGate(limits: ports.tenantLimits, traffic: ports.traffic),
            idempotent: IdempotentRequests(store: ports.idempotency),
            storage: StorageGate(limits: ports.tenantLimits, catalog: ports.catalog),
            readiness: ports.readiness,
            audit: ports.audit,
            uses: DailyUses(audit: ports.audit),
            counts: RequestCounts(registry: ports.metrics),
            tracer: ports.tracer
        )
    }

    static func routes(
        _ ports: Ports, _ configuration: Configuration, _ authenticator: Authenticator,
        _ provider: IdentityProvider? = nil, _ aria2Watch: Aria2Watch? = nil,
        isStopping: @escaping @Sendable () -> Bool = { false }
    ) -> [Route] {
        let submitted = ports.metrics.counter(.jobsSubmitted)[]
        let known = KnownEndpoints(store: ports.webhooks, check: ports.checkWebhookURL)
        let groups = KnownGroups(store: ports.groups)
        let credentials = KnownCredentials(store: ports.credentials)
        let sessions = KnownSessions(
            store: ports.sessions, schemes: configuration.schemes, protocols: ports.knownProtocols,
            credentials: credentials)
        let submitter = JobSubmitter(jobs: ports.jobs, keys: ports.keys, waiters: ports.waiters)
        let holds = BlobPins(catalog: ports.catalog)
        let retrier = JobRetrier(jobs: ports.jobs, keys: ports.keys, holds: holds)
        let warnings = Warnings(readiness: ports.readiness)
        let forwarding = Forwarding(node: ports.node, directory: ports.nodes, client: ports.nodeClient)
        let blobs = BlobRoutes(
            maximumBytes: configuration.maximumBlobBytes, blobs: ports.blobs, catalog: ports.catalog,
            unfinished: ports.unfinished)
        let uploads = UploadRoutes(blobs: blobs, area: ports.uploads, forwarding: forwarding)
        let jobs = JobRoutes(
            jobs: ports.jobs, endpoints: known, groups: groups, holds: holds, submitter: submitter, sessions: sessions,
            defaults: ports.defaults, live: ports.live, forwarding: forwarding, warnings: warnings,
            submitted: submitted, storage: StorageGate(limits: ports.tenantLimits, catalog: ports.catalog))
        let batch = BatchRoute(
            jobs: ports.jobs, keys: ports.keys, endpoints: known, groups: groups, sessions: sessions, holds: holds,
            warnings: warnings, submitted: submitted)
        let forecast = ForecastRoute(
            sessions: sessions, endpoints: known, cookies: ports.cookies, credentials: ports.credentials,
            cache: ports.cache, answers: ports.answers, limiters: ports.limiters, protocols: ports.knownProtocols,
            rules: ports.knownRules, egress: ports.knownEgress, defaults: ports.defaults, judge: ports.checkTarget)
        let answers = QuestionAnswers(questions: ports.questions, judge: ports.judge)
        let jobActions = JobActionRoutes(jobs: ports.jobs, holds: holds)
        let schedules = ScheduleRoutes(
            schedules: ports.schedules, sessions: sessions, endpoints: known, holds: holds, groups: ports.urlGroups)
        let events = EventsRoute(
            jobs: ports.jobs, live: ports.live, forwarding: forwarding, streams: OpenStreams(ports.metrics),
            tokens: StreamTokens(keys: ports.keys, signIns: ports.signIns, authenticator: authenticator))
        let actions = DashboardActions(
            jobs: jobActions, submissions: jobs, forecasts: forecast, events: events, schedules: schedules,
            sessions: sessions, credentials: credentials,
            settings: configuration.settings, version: configuration.version)
        let door = QStashMessageRoutes(
            jobs: ports.jobs, keys: ports.keys, sessions: sessions, queues: QStashQueues(limiters: ports.limiters),
            groups: ports.urlGroups, proxies: configuration.trustedProxies, submitted: submitted)
        let messageSchedules = QStashScheduleRoutes(
            schedules: ports.schedules, rules: schedules, queues: door.queues, proxies: door.proxies)
        let failedMessages = QStashFailedMessageRoutes(jobs: ports.jobs, blobs: ports.blobs, retrier: retrier)
        let qstash = [
            door.routes, QStashQueueRoutes(queues: door.queues).routes, QStashKeyRoutes(keys: ports.signingKeys).routes,
            messageSchedules.routes, failedMessages.routes, QStashGroupRoutes(groups: ports.urlGroups).routes,
            QStashLogRoutes(jobs: ports.jobs).routes,
            QStashFlowRoutes(limiters: ports.limiters, tenantLimits: ports.tenantLimits).routes,
        ]
        let aria2 = Aria2Door(
            methods: Aria2Methods(
                jobs: ports.jobs, keys: ports.keys, sessions: sessions, limiters: ports.limiters, live: ports.live,
                submitted: submitted),
            origins: configuration.aria2Origins,
            watch: aria2Watch ?? Aria2Watch(jobs: ports.jobs, keys: ports.keys))
        return jobs.routes + batch.routes + qstash.flatMap(\.self) + aria2.routes
            + JobControlRoutes(jobs: ports.jobs, retrier: retrier).routes + jobActions.routes
            + HARRoute(jobs: ports.jobs).routes
            + ExplainRoute(jobs: ports.jobs).routes
            + forecast.routes
            + QuestionRoutes(
                questions: ports.questions, asked: ports.askedQuestions, answers: answers, jobs: ports.jobs
            ).routes + QuestionActionRoute(answers: answers).routes
            + GroupRoutes(groups: ports.groups, known: groups, endpoints: known).routes
            + schedules.routes
            + LimiterRoutes(limiters: ports.limiters, kind: .host).routes
            + LimiterRoutes(limiters: ports.limiters, kind: .flow).routes + QueueRoutes(limiters: ports.limiters).routes
            + TenantRoutes(tenants: ports.tenants, limits: ports.tenantLimits).routes
            + KeyRoutes(keys: ports.keys, tenants: ports.tenants, sessions: sessions).routes
            + ProtocolRoutes(
                protocols: ports.protocols, known: ports.knownProtocols, tenants: ports.tenants,
                schemes: configuration.schemes, check: ports.checkWebhookURL
            ).routes
            + ServiceRuleRoutes(rules: ports.rules, known: ports.knownRules).routes
            + TokenRevocationRoutes(revocations: ports.tokenRevocations).routes
            + EgressRoutes(egress: ports.egress, known: ports.knownEgress, tenants: ports.tenants).routes
            + AuditRoutes(audit: ports.audit, tenants: ports.tenants).routes
            + StatisticsRoute(statistics: ports.statistics).routes
            + SessionRoutes(
                sessions: ports.sessions, snapshots: ports.snapshots, known: sessions, endpoints: known,
                credentials: credentials, defaults: ports.defaults
            ).routes
            + SessionResetRoute(
                cookies: ports.cookies, cache: ports.cache, credentials: ports.credentials, answers: ports.answers,
                known: credentials, sessions: sessions
            ).routes + AnswerRoutes(answers: ports.answers, sessions: sessions).routes
            + StoredEventsRoute(
                sessions: ports.sessions, webhooks: ports.webhooks,
                contents: EventContents(jobs: ports.jobs, sessions: ports.sessions, groups: ports.groups) {
                    id, tenant throws(StoreError) in try await ports.webhooks.endpoint(id, of: tenant)
                }, authenticator: authenticator, streams: events.streams
            ).routes
            + SnapshotRoutes(snapshots: ports.snapshots, sessions: ports.sessions).routes
            + CookieRoutes(cookies: ports.cookies, sessions: sessions).routes
            + CacheRoutes(cache: ports.cache, sessions: sessions).routes
            + CacheEntryRoutes(cache: ports.cache, blobs: ports.blobs, sessions: sessions).routes
            + CredentialRoutes(credentials: ports.credentials, known: credentials, sessions: sessions).routes
            + uploads.blobs.routes(beginning: uploads) + uploads.routes
            + NodeRoutes(blobs: ports.ownBlobs, signIns: ports.signIns, authenticator: authenticator).routes
            + BodyRoute(
                jobs: ports.jobs, questions: ports.questions, blobs: ports.blobs, live: ports.live,
                forwarding: forwarding
            ).routes
            + events.routes
            + WebhookRoutes(webhooks: ports.webhooks, known: known, check: ports.checkWebhookURL).routes
            + DeliveryRoutes(webhooks: ports.webhooks).routes
            + ServiceRoutes(
                readiness: ports.readiness, isStopping: isStopping, metrics: ports.metrics,
                version: configuration.version, schemaVersion: configuration.schemaVersion
            ).routes
            + pages(ports, configuration, authenticator, provider, retrier, actions)
    }

    private static func pages(
        _ ports: Ports,
        _ configuration: Configuration,
        _ authenticator: Authenticator,
        _ provider: IdentityProvider?,
        _ retrier: JobRetrier,
        _ actions: DashboardActions
    ) -> [Route] {
        let templates = Templates()
        let dashboard = DashboardRoutes(
            ports: ports,
            retrier: retrier,
            actions: actions,
            answers: QuestionAnswers(questions: ports.questions, judge: ports.judge),
            authenticator: authenticator,
            gate: DashboardGate(
                signIns: ports.signIns, proxies: configuration.trustedProxies,
                maximumPagesPerSecond: configuration.maximumPagesPerSecond),
            provider: provider,
            templates: templates
        )
        return DocumentationRoutes(templates: templates).routes + dashboard.routes
    }

    /// The framework's application around our responder.
    ///
    /// - Parameter loops: The threads that requests are answered on.
    func application(on loops: EventLoopGroupProvider = .singleton) -> some ApplicationProtocol {
        application(
            answering: responder, at: .hostname(configuration.host, port: configuration.port), configuration.tls, loops,
            onListening: onListening)
    }

    /// Answers clients of aria2 on this machine, who need no secret.
    var responderOfAria2: Responder {
        responder.opened(to: aria2OpenDoor, for: RouteTable(responder.table.routes { Aria2Door.serves($0) }))
    }

    /// The same for them.
    private func application(of listener: Aria2Listener, on loops: EventLoopGroupProvider) -> some ApplicationProtocol {
        application(
            answering: responderOfAria2,
            at: .hostname(listener.host, port: listener.port), nil, loops
        ) { [logger] port in
            logger.notice("listening for clients of aria2", metadata: ["server.port": "\(port)"])
        }
    }

    private func application(
        answering responder: Responder, at address: BindAddress, _ tls: ServerTLS?, _ loops: EventLoopGroupProvider,
        onListening: @escaping @Sendable (Int) async -> Void
    ) -> some ApplicationProtocol {
        let (connection, connections) = (configuration.connection, connections)
        let limits = HTTP1Channel.Configuration.DecoderConfiguration(
            maxHeaderFieldSize: 16 * 1024,
            maxHeaderListSize: 32 * 1024,
            maxHeaderFieldCount: 100
        )
        return Application(
            responder: responder,
            server: HTTPServerBuilder { responder in
                let configuration = HTTP1Channel.Configuration(
                    additionalChannelHandlers: [ConnectionGuard(limits: connection, connections: connections)],
                    idleTimeout: connection.idle,
                    httpDecoderConfiguration: limits
                )
                let plain = LoopBoundChannel(base: HTTP1Channel(responder: responder, configuration: configuration))
                guard let tls else { return plain }
                return try SecureChannel(
                    tls.configuration, limits: connection, connections: connections, http1: plain)
            },
            configuration: ApplicationConfiguration(address: address),
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? 0) },
            eventLoopGroupProvider: loops,
            logger: logger
        )
    }

    /// The time before its stop in which the server tells of that, and answers everything (``Configuration/lameDuck``):
    /// a service that is to stop before the server does.
    package var announcement: some Service {
        LameDuck(connections: connections, time: configuration.lameDuck, forced: forced)
    }

    package func run() async throws {
        // They end with the process, as those do that NIO shares: at a stop the framework waits for its last connection
        // in a task that nobody can wait for, and that may ask a loop for something after the framework has ended.
        let loops = MultiThreadedEventLoopGroup(
            numberOfThreads: System.coreCount, metricsDelegate: LoopStallDelegate(stalls))
        try await withThrowingTaskGroup { group in
            group.addTask { try await keyUses.run() }
            if let tokens { group.addTask { try await tokens.keys.run() } }
            if let provider { group.addTask { try await provider.keys.run() } }
            if let tls = configuration.tls { group.addTask { try await tls.run() } }
            group.addTask { await aria2Watch.run() }
            if let listener = configuration.aria2Listener {
                group.addTask { try await application(of: listener, on: .shared(loops)).run() }
            }
            group.addTask {
                try await gracefulShutdown()
                connections.leave()
                aria2Watch.close()
                try await forced.sleep(for: configuration.drainTimeout)
                connections.closeAll()
            }
            try await application(on: .shared(loops)).run()
            group.cancelAll()
        }
        // Of the last requests too.
        await keyUses.write()
    }
}

private struct LameDuck: Service {
    let connections: OpenConnections
    let time: Duration
    let forced: ForcedStop

    func run() async throws {
        try await gracefulShutdown()
        connections.leave()
        try await forced.sleep(for: time)
    }
}

extension OpenConnections.Limits {
    fileprivate init(_ configuration: Server.Configuration) {
        total = configuration.maximumConnections
        perPeer = configuration.maximumConnectionsPerAddress
        callsPerTenant = configuration.maximumCallsPerTenant
    }
}
