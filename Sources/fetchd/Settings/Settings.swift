import FetchAPI
import FetchEngine
import FetchJobs
import FetchRuntime
import FetchStorage
import FetchWorker
import FoundationEssentials
import Glibc
import HTTPTypes
import Logging

/// All settings for operators, as the rest of the program uses them; ``table`` lists them.
struct Settings: Sendable, CustomStringConvertible {
    /// An external PostgreSQL; nil for the service's own.
    var databaseURL: String?
    /// The same PostgreSQL without the pooler between it and us, for commands that a pooler cannot carry.
    var directDatabaseURL: String?
    /// Whether statements are kept prepared; not behind a pooler that lends connections for a transaction each.
    var preparesStatements = true
    /// How many connections to the database each of the two pools of ``Database`` has at most.
    var databaseConnections = 10
    /// How long the database may be away before the node ends, so that its supervisor starts it again.
    var databasePatience = Duration.seconds(600)
    /// Whether the schema is brought up to date at start.
    var migratesDatabase = true
    /// Blobs, the private PostgreSQL and, unless they are given, the master keys.
    var dataDirectory = Self.defaultDataDirectory
    /// How other nodes reach this one, when not by the address that it listens at.
    var nodeURL: String?
    /// What this node does.
    var roles = Set(NodeRole.allCases)
    /// Where people reach the dashboard, when not by the address that it listens at.
    var dashboardURL: String?
    /// Which JSON Web Tokens are taken beside API keys.
    var tokens = Tokens()
    /// Where people sign in to the dashboard by OpenID Connect.
    var openID = OpenID()
    /// The files of the server's certificate; see ``tls``.
    var tlsCertificate: String?
    var tlsKey: String?
    var tlsClientIssuers: String?
    /// The issuers of other nodes' certificates; nil for the system's.
    var nodeIssuers: String?
    /// Where blobs are kept when not in the data directory.
    var objectStore = ObjectStore()
    /// Where `initdb` and `postgres` are, when not in a usual place.
    var postgresBinaryDirectory: String?
    /// The user that runs the private PostgreSQL, when the service is started by root.
    var databaseUser: String?
    /// The keys that seal secrets in the database; nil when they are kept in the data directory.
    var masterKeys: String?
    /// The first API key, for a node that finds none.
    var bootstrapKey: APIKeyToken?
    /// The targets that ``TargetPolicy`` opens, as they were written.
    var guardAllow: String?
    /// ``TargetPolicy/opensLoopback``.
    var opensLoopback = false
    /// ``TargetPolicy/opensMetadata``.
    var opensMetadata = false
    /// ``TargetPolicy/opensProxies``.
    var opensProxies = false
    /// ``TargetPolicy/nat64Prefixes``, as they were written.
    var nat64Prefixes: String?
    /// ``TargetPolicy/nodeAddresses``, as they were written.
    var nodeAddresses: String?
    /// ``KerberosRealms``, as they were written.
    var kerberosRealms: String?
    var server = Server.Configuration()
    var dispatcher = Dispatcher.Configuration()
    /// How long a load that waits for an answer is held before it is parked.
    var hold = Duration.seconds(30)
    var courier = WebhookCourier.Configuration()
    var session = SessionConfiguration.default
    /// The proxy of jobs that name none.
    var proxy: Proxy?
    /// The hosts that they reach without it.
    var noProxy: [HostPattern]?
    var cache = CacheEvictor.Configuration()
    var retention = Retention()
    /// The file that gets the entries of the audit log; nil for none.
    var auditFile: String?
    /// The syslog daemon that gets them; nil for none.
    var auditSyslog: SyslogAddress?
    /// For an address with TLS.
    var auditSyslogFiles = SyslogTLS()
    /// The limits of tenants that have none of their own.
    ///
    /// The request rate is more than a tenant gets answered by two processors, so that it bounds a flood of requests
    /// that cost little, and no client that has work.
    var tenantLimits: TenantLimits = [
        .maximumRequestsPerSecond: 10_000, .maximumOpenQuestions: Int64(Asking.maximumOpen),
    ]
    var logLevel = Logger.Level.notice
    /// How lines of the log are written; nil for how it suits who reads them.
    var logFormat: LogFormat?
    /// Where traces go.
    var tracing = Tracing()

    /// Settings hold secrets: they never print themselves.
    var description: String { "<settings>" }

    /// The descriptors that the system lets this process open.
    let descriptors = DescriptorLimits.ofProcess

    /// Which addresses jobs and webhooks may reach.
    var targetPolicy: TargetPolicy { session.targetPolicy }

    /// An issuer of JSON Web Tokens, as far as it is named.
    struct Tokens: Sendable {
        /// An absolute path, or a URL.
        var keys: String?
        var issuer: String?
        var audience: String?
        var tenant: String?
        var tenantClaim: String?
        var scopeClaim = "scope"
        var scopes = TokenPolicy.ordinary
        var algorithms = Set(TokenAlgorithm.allCases)
        var refreshInterval = Duration.seconds(600)
    }

    /// An identity provider, as far as it is named.
    struct OpenID: Sendable {
        var issuer: String?
        var clientID: String?
        var clientSecret: String?
        var scopes = "openid"
        var name: String?
        var roleClaim = "groups"
        var viewers: Set<String>?
        var operators: Set<String>?
        var admins: Set<String>?
        var tenant: String?
        var tenantClaim: String?
    }

    /// A collector of traces, as far as it is named, and which traces it gets.
    struct Tracing: Sendable {
        /// Without the path that OTLP has for traces.
        var endpoint: String?
        var headers: HTTPFields?
        var form = "http/json"
        var serviceName = "fetchd"
        var sampler = TraceSampler.parentBasedAlwaysOn
        var ratio = 1.0
    }

    /// An object store that speaks S3, as far as it is named.
    struct ObjectStore: Sendable {
        var endpoint: String?
        var publicEndpoint: String?
        var bucket: String?
        var namesBucketByHost = false
        var credentials = ObjectStoreCredentials.keys
        var encryption: ObjectStoreEncryption?
        var kmsKey: String?
        var accessKey: String?
        var secretKey: String?
        var sessionToken: String?
        var region = "us-east-1"
        var prefix: String?
    }

    /// A wrong setting, with the variable that it came from.
    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ variable: String, _ fault: String) { description = "\(variable): \(fault)" }
    }

    /// The defaults.
    init() {
        server.maximumConnections = min(server.maximumConnections, descriptors.serverConnections)
        dispatcher.concurrency = Self.slots(descriptors)
        // The platform's week is for a person's device; a service's default is an hour (SES-9).
        session.timeoutIntervalForResource = .seconds(3600)
        // The storages of a session are set where it is made; loads without a session, such as webhooks, have none.
        session.httpCookieStorage = nil
        // Only requests with one rare policy could use such a response, so it is not worth a row.
        session.caching.storesUnconfirmableAnswers = false
        session.httpAdditionalHeaders[.userAgent] = "fetchd/\(Fetchd.version)"
        session.httpAdditionalHeaders[.accept] = "*/*"
    }

    /// - Throws: A failure that names the setting, its value and the rule that it breaks.
    init(_ sources: SettingSources) throws(Failure) {
        self.init()
        for setting in Self.table {
            if let value = sources.value(of: setting) { try setting.apply(value.text, to: &self) }
        }
        try checkTogether()
        dispatcher.retention = retention.jobs
        // The schemes that jobs and webhooks may use; the engine itself knows more.
        session.networkSchemes = ["http", "https"]
        if server.schemes.allowsFTP { session.networkSchemes.formUnion(["ftp", "ftps"]) }
        // A folder for each tenant, by its number; jobs see theirs as the root of all files.
        if server.schemes.allowsFile { session.fileMount = "\(dataDirectory)/files" }
        session.targetPolicy = try makeTargetPolicy()
        if let proxy { try check(proxy) }
        server.tokens = tokens.policy
        server.openID = try openID.policy(dashboard: dashboardURL)
        if let kerberosRealms {
            do {
                session.authentication.kerberosRealms = try KerberosRealms(kerberosRealms, allowedBy: targetPolicy)
            } catch {
                throw Failure("KERBEROS_REALMS", "\(error)")
            }
        }
    }

    /// Rules for more than one setting.
    private func checkTogether() throws(Failure) {
        guard preparesStatements || directDatabaseURL != nil || !migratesDatabase else {
            throw Failure(
                "DATABASE_PREPARED_STATEMENTS",
                "false needs DATABASE_DIRECT_URL, for what a pooler cannot carry, or DATABASE_MIGRATE=false")
        }
        guard server.maximumConnections <= descriptors.serverConnections else {
            throw Failure(
                "SERVER_MAXIMUM_CONNECTIONS",
                "\(server.maximumConnections) is more than the limit of open files has room for, which is "
                    + "\(descriptors.serverConnections) of \(descriptors.total); raise that (LimitNOFILE, ulimit -Hn)")
        }
        guard (tlsCertificate == nil) == (tlsKey == nil) else {
            throw Failure("SERVER_TLS_CERTIFICATE", "it needs SERVER_TLS_KEY beside it, and that needs it")
        }
        guard tlsClientIssuers == nil || tlsCertificate != nil else {
            throw Failure("SERVER_TLS_CLIENT_ISSUERS", "it needs SERVER_TLS_CERTIFICATE")
        }
        guard (auditSyslogFiles.certificate == nil) == (auditSyslogFiles.key == nil) else {
            throw Failure("AUDIT_SYSLOG_CERTIFICATE", "it needs AUDIT_SYSLOG_KEY beside it, and that needs it")
        }
        if case .tls? = auditSyslog {
        } else if auditSyslogFiles != SyslogTLS() {
            throw Failure("AUDIT_SYSLOG", "must begin with tls:// for what AUDIT_SYSLOG_ISSUERS and its like say")
        }
        guard noProxy == nil || proxy != nil else {
            throw Failure("WORKER_NO_PROXY", "it needs WORKER_PROXY beside it")
        }
        guard objectStore.isComplete else {
            throw Failure(
                "S3_ENDPOINT",
                "it needs S3_BUCKET, and S3_ACCESS_KEY and S3_SECRET_KEY or S3_CREDENTIALS=aws, beside it, and they need it"
            )
        }
        guard objectStore.kmsKey == nil || objectStore.encryption == .managedKey else {
            throw Failure("S3_KMS_KEY", "it needs S3_ENCRYPTION=aws:kms beside it")
        }
        guard tokens.isComplete else {
            throw Failure(
                "JWT_KEYS",
                "it needs JWT_ISSUER, JWT_AUDIENCE and JWT_TENANT or JWT_TENANT_CLAIM beside it, and they need it"
            )
        }
    }

    private func makeTargetPolicy() throws(Failure) -> TargetPolicy {
        var policy = TargetPolicy.publicOnly
        policy.opensFTP = server.schemes.allowsFTP
        policy.opensLoopback = opensLoopback
        policy.opensMetadata = opensMetadata
        policy.opensProxies = opensProxies
        for rule in Self.words(guardAllow) {
            do { try policy.allow(rule) } catch {
                throw Failure("GUARD_ALLOW", "\"\(rule)\" is not a rule: \(error)")
            }
        }
        for prefix in Self.words(nat64Prefixes) {
            do { try policy.translate(nat64: prefix) } catch { throw Failure("GUARD_NAT64_PREFIXES", "\(error)") }
        }
        for word in Self.words(nodeAddresses) {
            guard let address = IPAddress(word) else {
                throw Failure("GUARD_NODE_ADDRESSES", "\"\(word)\" is not an address")
            }
            policy.nodeAddresses.insert(address)
        }
        do { try policy.check() } catch { throw Failure("GUARD_ALLOW", "\(error)") }
        return policy
    }

    /// A proxy that jobs may not use, or not for a name, would fail each of them.
    private func check(_ proxy: Proxy) throws(Failure) {
        do throws(TargetRefusal) { try TargetGuard(policy: targetPolicy).judgeForNames(proxy) } catch {
            throw Failure("WORKER_PROXY", error.message)
        }
    }

    /// ``session`` as the sessions of tenants begin with it.
    var tenantSession: SessionConfiguration {
        guard let proxy else { return session }
        var configuration = session
        configuration.proxies = ProxyConfiguration(
            rules: [ProxyConfiguration.Rule(routes: [.proxy(proxy)])], exclusions: noProxy ?? [])
        return configuration
    }

    /// Where people reach the dashboard; nil when it listens at a port that only the running service knows.
    var dashboardOrigin: String? {
        guard dashboardURL == nil else { return dashboardURL }
        guard server.port != 0 else { return nil }
        let host = ["0.0.0.0", "::", "*"].contains(server.host) ? "127.0.0.1" : server.host
        return "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(server.port)"
    }

    private static func words(_ list: String?) -> [String] {
        (list ?? "").split { $0 == "," || $0 == " " }.map { String($0) }
    }

    /// The URL at which other nodes reach this one; nil when it listens at all addresses and none is set.
    func nodeURL(port: Int) -> String? {
        guard nodeURL == nil, !["0.0.0.0", "::", "*"].contains(server.host) else { return nodeURL }
        let host = server.host.contains(":") ? "[\(server.host)]" : server.host
        return "\(scheme)://\(host):\(port)"
    }

    /// Where entries of the audit log go beside the database.
    var auditSinks: [any AuditSink] {
        let sinks: [(any AuditSink)?] = [
            auditFile.map { AuditFile(path: $0) }, auditSyslog.map { AuditSyslog($0, files: auditSyslogFiles) },
        ]
        return sinks.compactMap(\.self)
    }

    /// How the server is reached.
    var scheme: String { tls == nil ? "http" : "https" }

    /// The files of the server's certificate; nil for a server without TLS.
    var tls: ServerTLS.Files? {
        guard let tlsCertificate, let tlsKey else { return nil }
        return ServerTLS.Files(certificates: tlsCertificate, key: tlsKey, clientIssuers: tlsClientIssuers)
    }

    /// How spans are exported; nil when no collector is named.
    ///
    /// - Parameter node: The id of this node.
    func spanExport(of node: String) -> SpanExporter.Configuration? {
        guard let endpoint = tracing.endpoint,
            let url = try? URLRecord(endpoint + (endpoint.hasSuffix("/") ? "" : "/") + "v1/traces")
        else { return nil }
        var configuration = SpanExporter.Configuration(url: url)
        configuration.headers = tracing.headers ?? HTTPFields()
        configuration.version = Fetchd.version
        configuration.resource = [
            ("service.name", tracing.serviceName), ("service.version", Fetchd.version), ("service.instance.id", node),
            ("telemetry.sdk.name", "fetchd"), ("telemetry.sdk.language", "swift"),
            ("telemetry.sdk.version", Fetchd.version),
        ]
        return configuration
    }

    /// Where bodies grow that go to an object store, and copies of bodies are made for readers that need files.
    var stagingDirectory: String { "\(dataDirectory)/staging" }

    /// The object store, when one is named.
    var s3: S3BlobStore.Configuration? {
        guard let endpoint = objectStore.endpoint, let bucket = objectStore.bucket, let keys = objectStore.keys else {
            return nil
        }
        var configuration = S3BlobStore.Configuration(
            origin: endpoint, bucket: bucket, keys: keys, stagingDirectory: stagingDirectory)
        configuration.publicOrigin = objectStore.publicEndpoint
        configuration.region = objectStore.region
        switch objectStore.encryption {
        case .storeKeys: configuration.encryption = .storeKeys
        case .managedKey: configuration.encryption = .managedKey(objectStore.kmsKey)
        case nil: break
        }
        configuration.namesBucketByHost = objectStore.namesBucketByHost
        configuration.prefix = objectStore.prefix ?? configuration.prefix
        return configuration
    }

    /// `/var/lib/fetchd` for root and system services, else where the user's programs keep their data.
    private static var defaultDataDirectory: String {
        let environment = { (name: String) in getenv(name).map { String(cString: $0) } }
        guard getuid() != 0, let home = environment("HOME") else { return "/var/lib/fetchd" }
        return (environment("XDG_DATA_HOME") ?? home + "/.local/share") + "/fetchd"
    }
}

extension Settings.Tokens {
    /// Whether all is there that tokens need, or nothing.
    fileprivate var isComplete: Bool {
        let needed = [keys, issuer, audience, tenant ?? tenantClaim]
        guard tenant == nil || tenantClaim == nil else { return false }
        return needed.allSatisfy { $0 == nil } || needed.allSatisfy { $0 != nil }
    }

    /// Nil when none are taken.
    fileprivate var policy: TokenPolicy? {
        guard let issuer, let audience,
            let owner = tenant.map(TokenPolicy.Owner.tenant) ?? tenantClaim.map({ .claim($0) })
        else { return nil }
        var policy = TokenPolicy(issuer: issuer, audience: audience, owner: owner)
        policy.algorithms = algorithms
        policy.scopeClaim = scopeClaim
        policy.scopes = scopes
        policy.refreshInterval = refreshInterval
        return policy
    }
}

extension Settings.OpenID {
    /// Nil when nobody signs in so.
    ///
    /// - Parameter dashboard: Where people reach the dashboard, as it is set.
    fileprivate func policy(dashboard: String?) throws(Settings.Failure) -> OpenIDPolicy? {
        let values = [Role.viewer: viewers, .operator: operators, .admin: admins].compactMapValues(\.self)
        guard let issuer, let url = try? URLRecord(issuer) else {
            let others = [clientID, clientSecret, name, tenant, tenantClaim].contains { $0 != nil } || !values.isEmpty
            guard others else { return nil }
            throw Settings.Failure("OIDC_ISSUER", "the other settings of OIDC_… need it")
        }
        guard let clientID else { throw Settings.Failure("OIDC_CLIENT_ID", "OIDC_ISSUER needs it") }
        guard let dashboard else {
            throw Settings.Failure("DASHBOARD_URL", "OIDC_ISSUER needs it, for that is where people are sent back to")
        }
        guard !values.isEmpty else {
            throw Settings.Failure(
                "OIDC_VIEWERS", "OIDC_ISSUER needs it, or OIDC_OPERATORS, or OIDC_ADMINS: nobody would have a role")
        }
        guard tenant == nil || tenantClaim == nil else {
            throw Settings.Failure("OIDC_TENANT", "it and OIDC_TENANT_CLAIM exclude each other")
        }
        var policy = OpenIDPolicy(
            issuer: issuer, clientID: clientID, dashboard: dashboard, name: name ?? url.host ?? issuer,
            owner: tenantClaim.map { .claim($0) } ?? .tenant(tenant ?? "default"), values: values)
        policy.clientSecret = clientSecret
        policy.scopes = scopes
        policy.roleClaim = roleClaim
        return policy
    }
}

extension Settings.ObjectStore {
    /// Whether all is there that one needs, or nothing.
    fileprivate var isComplete: Bool {
        let others = [accessKey, secretKey, sessionToken]
        switch credentials {
        case .aws: return endpoint != nil && bucket != nil && others.allSatisfy { $0 == nil }
        case .keys:
            let needed = [endpoint, bucket, accessKey, secretKey]
            return needed.allSatisfy { $0 == nil } || needed.allSatisfy { $0 != nil }
        }
    }

    /// Nil when there are none.
    fileprivate var keys: S3BlobStore.Keys? {
        switch credentials {
        case .aws: return .environment(ProcessInfo.processInfo.environment)
        case .keys:
            guard let accessKey, let secretKey else { return nil }
            return .fixed(accessKey, secretKey, token: sessionToken)
        }
    }
}

/// Where the keys of an object store come from.
enum ObjectStoreCredentials: String, Sendable, CaseIterable {
    /// The settings have them.
    case keys
    /// The environment of the process leads to them, as it does for the SDKs of AWS.
    case aws
}

/// How an object store encrypts what it keeps.
enum ObjectStoreEncryption: String, Sendable, CaseIterable {
    case storeKeys = "AES256"
    case managedKey = "aws:kms"
}
