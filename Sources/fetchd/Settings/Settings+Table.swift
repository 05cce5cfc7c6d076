import FetchAPI
import FetchEngine
import FetchJobs
import FetchRuntime
import FetchStorage
import FetchWorker

extension Settings {
    /// Every setting, in the order of the documentation.
    static let table: [Setting] =
        node + tracing + database + server + tokens + openID + tenants + worker + webhooks + storage + reach

    private static let node: [Setting] = [
        Setting(
            "data.directory", flag: "data-directory", \.dataDirectory, .absolutePath,
            default: "/var/lib/fetchd for root, else below the user's data",
            "Where bodies, the private PostgreSQL and its master keys are kept."),
        Setting(
            "fetchd.masterKeys", \.masterKeys,
            .text("1: and 32 bytes in base64, a new key with a number of its own before older ones"),
            default: "with the private PostgreSQL, made once", isSecret: true,
            "What secrets in the database are sealed with; required with DATABASE_URL."),
        Setting(
            "fetchd.bootstrapKey", \.bootstrapKey, .apiKey, default: "none", isSecret: true,
            "The first API key, stored where there is none yet, so that a container can begin."),
        Setting(
            "fetchd.node.url", flag: "node-url", \.nodeURL, .origin,
            default: "where it listens, unless at all addresses",
            "How other nodes reach this one."),
        Setting(
            "fetchd.roles", flag: "roles", \.roles, .roles,
            "What this node does; without worker it runs no jobs, without api it answers no clients."),
        Setting(
            "dashboard.url", \.dashboardURL, .origin, default: "where it listens",
            "How people reach the dashboard, for the links of \"fetchd dashboard link\" and for OIDC_ISSUER."),
        Setting(
            "log.level", flag: "log-level", \.logLevel, .logLevel,
            "What is logged at least; info has a line for each job that succeeds."),
        Setting(
            "log.format", flag: "log-format", \.logFormat, .choice, default: "pretty at a terminal, else logfmt",
            "How lines of the log are written."),
    ]

    /// By the names that OpenTelemetry has for them.
    private static let tracing: [Setting] = [
        Setting(
            "otel.exporter.otlp.endpoint", \.tracing.endpoint, .collector, default: "none, and no span is recorded",
            "A collector of traces, by OTLP over HTTP; its path /v1/traces is put behind."),
        Setting(
            "otel.exporter.otlp.headers", \.tracing.headers, .collectorFields, default: "none", isSecret: true,
            "Header fields of every request to it, such as one with credentials."),
        Setting(
            "otel.exporter.otlp.protocol", \.tracing.form,
            .text("http/json, the only form that is exported") { $0 == "http/json" },
            "The form in which traces are exported."),
        Setting(
            "otel.service.name", \.tracing.serviceName, .word("a name"), "What traces call this service."),
        Setting(
            "otel.traces.sampler", \.tracing.sampler, .sampler,
            "Which traces are recorded; parentbased_… ones go by what the caller has decided, where there is one."),
        Setting(
            "otel.traces.sampler.arg", \.tracing.ratio, .ratio,
            "The share of traces that …traceidratio samplers record."),
    ]

    private static let database: [Setting] = [
        Setting(
            "database.url", flag: "database-url", \.databaseURL,
            .text("a PostgreSQL, as postgres://… or key=value words") { !$0.isEmpty },
            default: "a private PostgreSQL", isSecret: true, mayBeEmpty: true,
            "The PostgreSQL that keeps jobs and everything else."),
        Setting(
            "database.direct.url", \.directDatabaseURL, .text("a PostgreSQL, as postgres://… or key=value words"),
            default: "none", isSecret: true,
            "The same PostgreSQL past a pooler in transaction mode, for what such a pooler cannot carry."),
        Setting(
            "database.preparedStatements", \.preparesStatements, .bool,
            "Whether statements are kept prepared; false behind a pooler in transaction mode."),
        Setting(
            "database.maximumConnections", \.databaseConnections, .integer(1...1000),
            "Connections to the database, and as many again for the statements that run for every job."),
        Setting(
            "database.migrate", \.migratesDatabase, .bool,
            "Whether the schema is brought up to date at the start; false leaves that to \"fetchd migrate\"."),
        Setting(
            "database.giveUpSeconds", \.databasePatience, .duration(.seconds, 1...86_400),
            "How long the database may be away before the node ends."),
        Setting(
            "database.user", flag: "db-user", \.databaseUser, .text("the name of a user"),
            default: "fetchd or postgres",
            "Who runs the private PostgreSQL when root starts the service."),
        Setting(
            "postgres.binaryDirectory", flag: "pg-bindir", \.postgresBinaryDirectory, .absolutePath,
            default: "looked for in the usual places", "Where initdb and postgres are."),
    ]

    private static let server: [Setting] = [
        Setting("server.host", flag: "host", \.server.host, .text("an address"), "The address to listen at."),
        Setting(
            "server.port", flag: "port", \.server.port, .integer(0...65_535),
            "The port to listen at; 0 takes one that is free."),
        Setting(
            "server.tls.certificate", \.tlsCertificate, .absolutePath, default: "none, which is HTTP without TLS",
            "A file with the server's certificate and its issuers', in PEM; read again when it changes."),
        Setting(
            "server.tls.key", \.tlsKey, .absolutePath, default: "none",
            "The file of its private key, in PEM, which not every user may read."),
        Setting(
            "server.tls.clientIssuers", \.tlsClientIssuers, .absolutePath, default: "none",
            "A file with the issuers of clients' certificates; without such a one nobody connects, nodes included."),
        Setting(
            "fetchd.node.issuers", \.nodeIssuers, .absolutePath, default: "the system's",
            "A file with the issuers of other nodes' certificates."),
        Setting(
            "server.maximumConnections", \.server.maximumConnections, .integer(),
            default: "10000, or a 32nd of the limit of open files, 64 at least",
            "Connections to the API; beyond it idle ones are closed, then only its health is told."),
        Setting(
            "server.maximumConnectionsPerAddress", \.server.maximumConnectionsPerAddress, .integer(),
            default: "half of the connections", "Those from one address, unless it is a trusted proxy's."),
        Setting(
            "server.maximumCallsPerTenant", \.server.maximumCallsPerTenant, .integer(),
            default: "half of the connections", "Calls of one tenant that are being answered at once."),
        Setting(
            "server.trustedProxies", \.server.trustedProxies, .proxies, default: "none",
            "Proxies whose Forwarded or X-Forwarded-For says who asks."),
        Setting(
            "aria2.allowedOrigins", \.server.aria2Origins, .origins, default: "none",
            "Web pages that may call /jsonrpc and /rpc, such as AriaNg, by their origins; * for all."),
        Setting(
            "aria2.listen", \.server.aria2Listener, .aria2Listener, default: "none",
            "Where /jsonrpc and /rpc are for programs of this machine, without a secret."),
        Setting(
            "aria2.tenant", \.server.aria2Tenant, .word("the name of a tenant"),
            "The tenant whose downloads those of ARIA2_LISTEN are."),
        Setting(
            "server.authenticationFailuresPerAddress", \.server.authenticationFailuresPerAddress, .integer(),
            "Wrong keys from one address in a minute, beyond which they get 429; a right key always passes."),
        Setting(
            "server.maximumBlobBytes", \.server.maximumBlobBytes, .bytes(from: 1), "Bytes of one upload or download."),
        Setting(
            "server.lameDuckSeconds", \.server.lameDuck, .duration(.seconds, 0...3600),
            "How long a node that was asked to stop serves on with a readiness of 503, so that balancers notice."),
    ]

    /// The limits of tenants of which "fetchd tenants set" says nothing else.
    private static let tenants: [Setting] = [
        Setting(
            .maximumRequestsPerSecond,
            "Requests of a tenant that each node answers in a second, and twice as many at once; more get 429."),
        Setting(.maximumWaitingJobs, "Jobs a tenant may have waiting; more get 429."),
        Setting(.maximumRunningJobs, "Jobs of a tenant that run at once, divided by the nodes; more wait."),
        Setting(
            .maximumBytesPerDay,
            "Bytes that jobs of a tenant send and receive in a day of UTC; then new jobs get 429 until the next."),
        Setting(
            .maximumStoredBytes,
            "Bytes of uploads, downloaded files and bodies of jobs that a tenant may have; more get 429."),
        Setting(.maximumSessions, "Sessions a tenant may have that have not ended; more get 429."),
        Setting(
            .maximumOpenQuestions,
            "Open questions a tenant may have; loads that would ask another go on by \"otherwise\"."),
    ]

    private static let tokens: [Setting] = [
        Setting(
            "jwt.keys", \.tokens.keys, .keySet, default: "no tokens are taken",
            "The JSON Web Key Set that JSON Web Tokens are checked with, which are taken as bearer tokens then."),
        Setting(
            "jwt.issuer", \.tokens.issuer, .word("an issuer"), default: "required with JWT_KEYS",
            "What their claim iss has to be."),
        Setting(
            "jwt.audience", \.tokens.audience, .word("an audience"), default: "required with JWT_KEYS",
            "What their claim aud has to be, or to have."),
        Setting(
            "jwt.tenant", \.tokens.tenant, .word("the name of a tenant"),
            default: "none; this or JWT_TENANT_CLAIM is required with JWT_KEYS", "The tenant of all of them."),
        Setting(
            "jwt.tenantClaim", \.tokens.tenantClaim, .word("the name of a claim"), default: "none",
            "The claim with the name of the tenant, which has to be there."),
        Setting(
            "jwt.scopeClaim", \.tokens.scopeClaim, .word("the name of a claim"),
            "The claim with the scopes, a text with spaces between them or a list; unknown ones are left out."),
        Setting(
            "jwt.scopes", \.tokens.scopes, .tokenScopes, default: "all but admin and keys",
            "The scopes that they can have; others are left out."),
        Setting(
            "jwt.algorithms", \.tokens.algorithms, .tokenAlgorithms, "The algorithms that their signatures may have."),
        Setting(
            "jwt.refreshSeconds", \.tokens.refreshInterval, .duration(.seconds, 60...86_400),
            "How often the keys are read again; for a key that is not known they are read earlier."),
    ]

    private static let openID: [Setting] = [
        Setting(
            "oidc.issuer", \.openID.issuer, .issuer, default: "nobody signs in by OpenID Connect",
            "The identity provider where people sign in to the dashboard by OpenID Connect, as it names itself."),
        Setting(
            "oidc.clientId", \.openID.clientID, .word("an id"), default: "required with OIDC_ISSUER",
            "What the provider calls this service."),
        Setting(
            "oidc.clientSecret", \.openID.clientSecret, .word("a secret"), default: "none, for a public client",
            isSecret: true, "What proves this service to the provider."),
        Setting(
            "oidc.scopes", \.openID.scopes, .openIDScopes,
            "What is asked of the provider; some name the groups of people for a scope of their own alone."),
        Setting(
            "oidc.name", \.openID.name, .word("a name"), default: "the host of OIDC_ISSUER",
            "What people call the provider, for the button \"Sign in with …\"."),
        Setting(
            "oidc.roleClaim", \.openID.roleClaim, .word("the name of a claim"),
            "The claim of the ID token that says what somebody is, a text or a list of texts."),
        Setting(
            "oidc.viewers", \.openID.viewers, .values,
            default: "none; this, OIDC_OPERATORS or OIDC_ADMINS is required with OIDC_ISSUER",
            "The values of that claim that make a viewer."),
        Setting(
            "oidc.operators", \.openID.operators, .values, default: "none",
            "Those that make an operator, who acts on jobs, questions and limits."),
        Setting(
            "oidc.admins", \.openID.admins, .values, default: "none",
            "Those that make an admin, who does everything."),
        Setting(
            "oidc.tenant", \.openID.tenant, .word("the name of a tenant"),
            default: "default, unless OIDC_TENANT_CLAIM is set", "The tenant that all of them see."),
        Setting(
            "oidc.tenantClaim", \.openID.tenantClaim, .word("the name of a claim"), default: "none",
            "The claim of the ID token with the name of the tenant, which has to be there."),
    ]

    private static let worker: [Setting] = [
        Setting(
            "worker.concurrency", \.dispatcher.concurrency, .integer(1...100_000),
            default: "4096, or what an eighth of the memory and the limit of open files have room for",
            "Jobs of one tenant that a node runs at once; an eighth more is kept for others."),
        Setting(
            "worker.maximumConnectionsPerHost", \.session.httpMaximumConnectionsPerHost, .integer(1...10_000),
            "HTTP/1.1 connections of a tenant to one host."),
        Setting(
            "worker.proxy", \.proxy, .proxy, default: "none", isSecret: true,
            "The proxy of jobs that name none, nor does their session; GUARD_ALLOW has to open it."),
        Setting(
            "worker.noProxy", \.noProxy, .hosts, default: "none", "Hosts that jobs reach without WORKER_PROXY."),
        Setting(
            "worker.drainSeconds", \.dispatcher.drainTimeout, .duration(.seconds, 0...86_400),
            "Time for running jobs to finish at a stop."),
        Setting(
            "worker.leaseSeconds", \.dispatcher.lease, .duration(.seconds, 1...3600),
            "Time after which a silent node's jobs are given to others."),
        Setting(
            "worker.maximumCircuitOpenSeconds", \.dispatcher.longestOpenCircuit, .duration(.seconds, 1...86_400),
            "How long a host is left alone at most when it asks for that by Retry-After or RateLimit."),
        Setting(
            "worker.maximumCrashes", \.dispatcher.maximumCrashes, .integer(1...1000),
            "Nodes that a job may take down by itself before it fails."),
        Setting(
            "worker.holdSeconds", \.hold, .duration(.seconds, 0...3600),
            "How long a load that waits for an answer keeps its connection before it is parked."),
        Setting(
            // Less than a quarter of an hour would take jobs away before their clients could look.
            "retention.days", \.retention.jobs, .duration(.days, 0.01...36_500), default: "no limit",
            "How long final jobs and finished groups are kept at least."),
        Setting(
            "audit.retentionDays", \.retention.audit, .duration(.days, 1...36_500),
            "How long entries of the audit log are kept."),
        Setting(
            "audit.maximumEntries", \.retention.auditEntries, .integer(10_000...1_000_000_000),
            "Entries of the audit log that a tenant has at most; the oldest go first."),
        Setting(
            "audit.file", \.auditFile, .absolutePath, default: "none",
            "A file that gets every entry of the audit log, one JSON text a line; it may be moved away at any time."),
        Setting(
            "audit.syslog", \.auditSyslog, .syslog, default: "none",
            "A syslog daemon that gets every entry of the audit log, one JSON text a message."),
        Setting(
            "audit.syslog.issuers", \.auditSyslogFiles.issuers, .absolutePath, default: "the system's",
            "A file with the issuers of its certificate, in PEM, for tls://; read again for each batch, as the next two."
        ),
        Setting(
            "audit.syslog.certificate", \.auditSyslogFiles.certificate, .absolutePath, default: "none",
            "A file with the certificate that it is shown when it asks, and its issuers', in PEM."),
        Setting(
            "audit.syslog.key", \.auditSyslogFiles.key, .absolutePath, default: "none",
            "The file of its private key, in PEM, which not every user may read."),
    ]

    private static let webhooks: [Setting] = [
        Setting(
            "webhooks.concurrency", \.courier.concurrency, .integer(1...100_000),
            "Webhooks sent at once, shared by tenants and endpoints."),
        Setting(
            "webhooks.concurrencyPerEndpoint", \.courier.concurrencyPerEndpoint, .integer(1...100_000),
            "Those to one endpoint, of all nodes together."),
        Setting(
            // A message that is claimed is another node's to send after a minute.
            "webhooks.timeoutSeconds", \.courier.timeout, .duration(.seconds, 0.1...50),
            "Time for a receiver to answer."),
        Setting(
            "webhooks.retentionDays", \.retention.deliveries, .duration(.days, 0.01...36_500),
            "How long deliveries that are over are kept."),
    ]

    private static let storage: [Setting] = [
        Setting(
            "cache.capacityBytes", \.cache.capacity, .bytes(from: 0),
            "Cached answers of a tenant; 0 stores none."),
        Setting(
            "cache.memoryBytes", \.cache.memoryCapacity, .bytes(from: 0), "Those of all tenants in a node's memory."),
        Setting(
            "s3.endpoint", \.objectStore.endpoint, .origin, default: "bodies are in the data directory",
            "An object store that speaks S3, for the bodies of several nodes."),
        Setting(
            "s3.publicEndpoint", \.objectStore.publicEndpoint, .origin, default: "S3_ENDPOINT",
            "The object store as clients reach it, who are sent there for bodies when they ask for that."),
        Setting(
            "s3.bucket", \.objectStore.bucket, .text("the name of a bucket"), default: "required with S3_ENDPOINT",
            "Where the bodies go there."),
        Setting(
            "s3.virtualHost", \.objectStore.namesBucketByHost, .bool,
            "Whether the bucket is named by the host (bucket.s3.example.com), and not by the path."),
        Setting(
            "s3.credentials", \.objectStore.credentials, .choice,
            "Whether the keys are S3_ACCESS_KEY and S3_SECRET_KEY, or found as the SDKs of AWS find them (AWS_…)."),
        Setting(
            "s3.accessKey", \.objectStore.accessKey, .text("an access key"), default: "required with S3_ENDPOINT",
            "Who the service is there."),
        Setting(
            "s3.secretKey", \.objectStore.secretKey, .text("a secret key"), default: "required with S3_ENDPOINT",
            isSecret: true, "What requests are signed with."),
        Setting(
            "s3.sessionToken", \.objectStore.sessionToken, .text("a session token"), default: "none", isSecret: true,
            "What goes with an access key that lasts for a while."),
        Setting(
            "s3.encryption", \.objectStore.encryption, .choice, default: "as the bucket says",
            "How the store encrypts the bodies: with its keys, or with one of a key management service."),
        Setting(
            "s3.kmsKey", \.objectStore.kmsKey, .text("the id or ARN of a key"), default: "the bucket's",
            "That key, for S3_ENCRYPTION=aws:kms."),
        Setting("s3.region", \.objectStore.region, .text("a region"), "The region that requests are signed for."),
        Setting(
            "s3.prefix", \.objectStore.prefix, .text("a prefix"), default: "none",
            "What the names of bodies begin with."),
    ]

    private static let reach: [Setting] = [
        Setting(
            "guard.allow", \.guardAllow,
            .text("a list of rules, such as 127.0.0.1:9000, 10.0.0.0/8, *.internal.example"),
            default: "none", "What jobs and webhooks may reach although it is not public."),
        Setting(
            "guard.allowLoopback", \.opensLoopback, .bool,
            "Whether they may reach all of this machine's own loopback addresses."),
        Setting(
            "guard.allowMetadata", \.opensMetadata, .bool,
            "Whether they may reach the addresses at which clouds tell a machine its credentials."),
        Setting(
            "guard.allowProxies", \.opensProxies, .bool,
            "Whether jobs may use any public proxy; else those that GUARD_ALLOW opens."),
        Setting(
            "guard.nat64.prefixes", \.nat64Prefixes,
            .text("a list of IPv6 blocks of 32, 40, 48, 56, 64 or 96 bits, such as 64:ff9b::/96"), default: "none",
            "Networks that translate to IPv4, whose addresses are judged by the IPv4 address inside (RFC 6052)."),
        Setting(
            "guard.nodeAddresses", \.nodeAddresses, .text("a list of addresses, such as 203.0.113.7 2001:db8::7"),
            default: "those of its interfaces",
            "Further addresses that are the node's own, such as one that a network translates to it."),
        Setting(
            "kerberos.realms", \.kerberosRealms,
            .text("a list of realms with the addresses of their centres, such as CORP.EXAMPLE=10.0.0.5 10.0.0.6:88"),
            default: "none", "Realms whose principals jobs may use for Negotiate."),
        Setting("schemes.data", \.server.schemes.allowsData, .bool, "Whether jobs may load data: URLs."),
        Setting(
            "schemes.file", \.server.schemes.allowsFile, .bool,
            "Whether jobs may load file: URLs, each tenant from a folder in the data directory."),
        Setting("schemes.ftp", \.server.schemes.allowsFTP, .bool, "Whether jobs may load ftp: and ftps: URLs."),
    ]
}

extension Setting {
    /// A limit of tenants that have none of their own.
    fileprivate init(_ limit: TenantLimit, _ summary: String) {
        self.init(
            "tenants.\(limit.rawValue)", \.tenantLimits[limit],
            .integer(limit.range, of: limit.rawValue.contains("Bytes") ? "bytes" : nil),
            default: Settings().tenantLimits[limit].map { String($0) } ?? "no limit", summary)
    }
}
