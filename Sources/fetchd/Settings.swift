import Configuration
import FetchAPI
import FetchEngine
import FetchJobs
import FetchStorage
import FetchWorker
import Glibc
import HTTPTypes
import Logging

/// Everything an operator can set: from flags, then the environment, then the defaults of what is set.
///
/// This is the one place that reads either. A key, its property and its environment variable are one word:
/// `worker.concurrency` is `WORKER_CONCURRENCY`.
struct Settings: CustomStringConvertible {
    /// An external PostgreSQL; nil for the service's own.
    var databaseURL: String?
    /// The same PostgreSQL without the pooler between it and us, for what a pooler cannot carry.
    var directDatabaseURL: String?
    /// Whether statements are kept prepared; not behind a pooler that lends connections for a transaction each.
    var preparesStatements = true
    /// How long the database may be away before the node ends, for whoever watches it to start it anew.
    var databasePatience = Duration.seconds(600)
    /// Whether the schema is brought up to date at start.
    var migratesDatabase = true
    /// Blobs, the private PostgreSQL and, unless they are given, the master keys.
    var dataDirectory = Self.defaultDataDirectory
    /// How other nodes reach this one, when not by the address that it listens at.
    var nodeURL: String?
    /// Where blobs are kept when not in the data directory.
    var s3: S3BlobStore.Configuration?
    /// Where `initdb` and `postgres` are, when not in a usual place.
    var postgresBinaryDirectory: String?
    /// Who runs the private PostgreSQL, when the service is started by root.
    var databaseUser: String?
    /// What secrets in the database are sealed with; nil when they are kept in the data directory.
    var masterKeys: String?
    /// The first API key, for a node that finds none.
    var bootstrapKey: APIKeyToken?
    /// Which addresses jobs and webhooks may reach.
    var targetPolicy = TargetPolicy.publicOnly
    var server = Server.Configuration()
    var dispatcher = Dispatcher.Configuration()
    var courier = WebhookCourier.Configuration()
    var session = SessionConfiguration.default
    var cache = CacheKeeper.Configuration()
    var retention = Retention()
    /// How many jobs a tenant may have waiting that has no quota of its own; nil for as many as it likes.
    var maximumWaitingJobs: Int?
    var logLevel = Logger.Level.notice

    /// Settings hold secrets: they never print themselves.
    var description: String { "<settings>" }

    /// What the system lets this process open.
    let descriptors = DescriptorLimits.ofProcess

    /// What is wrong with a setting, and where it came from.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameter reader: Asks the flags first, then the environment.
    init(reader: ConfigReader) throws(Failure) {
        databaseURL = reader.string(forKey: "database.url", isSecret: true)
        directDatabaseURL = reader.string(forKey: "database.direct.url", isSecret: true)
        let strict = SettingsReader(reader: reader)
        preparesStatements = try strict.bool("database.preparedStatements") ?? preparesStatements
        migratesDatabase = try strict.bool("database.migrate") ?? migratesDatabase
        databasePatience =
            try strict.duration("database.giveUpSeconds", of: .seconds, in: 1...86_400) ?? databasePatience
        guard preparesStatements || directDatabaseURL != nil || !migratesDatabase else {
            throw Failure(
                description: "DATABASE_PREPARED_STATEMENTS=false needs DATABASE_DIRECT_URL, for what a pooler cannot "
                    + "carry, or DATABASE_MIGRATE=false")
        }
        databaseUser = reader.string(forKey: "database.user")
        postgresBinaryDirectory = reader.string(forKey: "postgres.binaryDirectory")
        dataDirectory = reader.string(forKey: "data.directory", default: dataDirectory)
        masterKeys = reader.string(forKey: "fetchd.masterKeys", isSecret: true)
        bootstrapKey = try Self.bootstrapKey(reader)
        nodeURL = try Self.nodeURL(reader)
        s3 = try Self.s3(reader.scoped(to: "s3"), dataDirectory: dataDirectory)
        try server.read(strict)
        server.maximumConnections = min(server.maximumConnections, descriptors.serverConnections)
        dispatcher.concurrency = Self.slots(descriptors)
        try dispatcher.read(strict)
        // Less than a quarter of an hour would take jobs away before their clients could look.
        retention.jobs = try strict.duration("retention.days", of: .days, in: 0.01...36_500)
        dispatcher.retention = retention.jobs
        retention.deliveries =
            try strict.duration("webhooks.retentionDays", of: .days, in: 0.01...36_500) ?? retention.deliveries
        maximumWaitingJobs = try strict.integer("tenants.maximumWaitingJobs")
        try courier.read(strict)
        try cache.read(strict)
        session.httpMaximumConnectionsPerHost =
            try strict.integer("worker.maximumConnectionsPerHost", in: 1...10_000)
            ?? session.httpMaximumConnectionsPerHost
        // The platform's week is for a person's device; a service's default is an hour (SES-9).
        session.timeoutIntervalForResource = .seconds(3600)
        // Those of a session are put in where it is made; what loads without one, such as a webhook, has none.
        session.httpCookieStorage = nil
        // What nobody but a request of one rare policy could be given is not worth a row.
        session.caching.storesUnconfirmableAnswers = false
        // What jobs and webhooks may ask for; the engine itself knows more.
        session.networkSchemes = ["http", "https"]
        server.schemes.allowsData = try strict.bool("schemes.data") ?? server.schemes.allowsData
        server.schemes.allowsFile = try strict.bool("schemes.file") ?? server.schemes.allowsFile
        // A folder for each tenant, by its number; jobs see theirs as the root of all files.
        if server.schemes.allowsFile { session.fileMount = "\(dataDirectory)/files" }
        server.schemes.allowsFTP = try strict.bool("schemes.ftp") ?? server.schemes.allowsFTP
        if server.schemes.allowsFTP {
            session.networkSchemes.formUnion(["ftp", "ftps"])
            targetPolicy.opensFTP = true
        }
        for rule in reader.string(forKey: "guard.allow", default: "").split(whereSeparator: { $0 == "," || $0 == " " })
        {
            do { try targetPolicy.allow(String(rule)) } catch {
                throw Failure(description: "GUARD_ALLOW: \"\(rule)\" is not a rule: \(error)")
            }
        }
        do { try targetPolicy.check() } catch {
            throw Failure(description: "GUARD_ALLOW: \(error)")
        }
        session.targetPolicy = targetPolicy
        if let realms = reader.string(forKey: "kerberos.realms") {
            do { session.authentication.kerberosRealms = try KerberosRealms(realms, allowedBy: targetPolicy) } catch {
                throw Failure(description: "KERBEROS_REALMS: \(error)")
            }
        }
        session.httpAdditionalHeaders[.userAgent] = "fetchd/\(Fetchd.version)"
        session.httpAdditionalHeaders[.accept] = "*/*"
        let level = reader.string(forKey: "log.level", default: logLevel.rawValue)
        guard let logLevel = Logger.Level(rawValue: level) else {
            let known = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            throw Failure(description: "LOG_LEVEL: \"\(level)\" is not one of \(known)")
        }
        self.logLevel = logLevel
        guard dataDirectory.hasPrefix("/") else {
            throw Failure(description: "DATA_DIRECTORY: \"\(dataDirectory)\" is not an absolute path")
        }
    }

    private static func bootstrapKey(_ reader: ConfigReader) throws(Failure) -> APIKeyToken? {
        guard let text = reader.string(forKey: "fetchd.bootstrapKey", isSecret: true), !text.isEmpty else { return nil }
        guard let token = APIKeyToken(text) else {
            throw Failure(description: "FETCHD_BOOTSTRAP_KEY is not an API key as \"fetchd keys generate\" prints one")
        }
        return token
    }

    private static func nodeURL(_ reader: ConfigReader) throws(Failure) -> String? {
        guard let text = reader.string(forKey: "fetchd.node.url") else { return nil }
        guard let url = try? URLRecord(text), ["http", "https"].contains(url.scheme), url.description == text + "/"
        else {
            throw Failure(description: "FETCHD_NODE_URL: \"\(text)\" is not http or https, a host and a port")
        }
        return text
    }

    /// How other nodes reach this one; nil when it listens at all addresses and nobody has said which to take.
    func nodeURL(port: Int) -> String? {
        guard nodeURL == nil, !["0.0.0.0", "::", "*"].contains(server.host) else { return nodeURL }
        let host = server.host.contains(":") ? "[\(server.host)]" : server.host
        return "http://\(host):\(port)"
    }

    /// The object store, when one is named: then all of its settings are needed.
    private static func s3(
        _ reader: ConfigReader,
        dataDirectory: String
    ) throws(Failure) -> S3BlobStore.Configuration? {
        guard let origin = reader.string(forKey: "endpoint") else { return nil }
        guard let bucket = reader.string(forKey: "bucket"), let accessKey = reader.string(forKey: "accessKey"),
            let secretKey = reader.string(forKey: "secretKey", isSecret: true)
        else {
            throw Failure(description: "S3_ENDPOINT needs S3_BUCKET, S3_ACCESS_KEY and S3_SECRET_KEY beside it")
        }
        guard (try? URLRecord(origin))?.host != nil, !origin.hasSuffix("/") else {
            throw Failure(description: "S3_ENDPOINT: \"\(origin)\" is not a scheme, a host and a port")
        }
        var configuration = S3BlobStore.Configuration(
            origin: origin, bucket: bucket, accessKeyID: accessKey, secretAccessKey: secretKey,
            stagingDirectory: "\(dataDirectory)/staging")
        configuration.region = reader.string(forKey: "region", default: configuration.region)
        configuration.prefix = reader.string(forKey: "prefix", default: configuration.prefix)
        return configuration
    }

    /// `/var/lib/fetchd` for root and system services, else where the user's programs keep their data.
    private static var defaultDataDirectory: String {
        let environment = { (name: String) in getenv(name).map { String(cString: $0) } }
        guard getuid() != 0, let home = environment("HOME") else { return "/var/lib/fetchd" }
        return (environment("XDG_DATA_HOME") ?? home + "/.local/share") + "/fetchd"
    }
}

extension Server.Configuration {
    fileprivate mutating func read(_ reader: SettingsReader) throws(Settings.Failure) {
        host = reader.text("server.host") ?? host
        port = try reader.integer("server.port", in: 0...65_535) ?? port
        maximumConnections = try reader.integer("server.maximumConnections") ?? maximumConnections
        maximumConnectionsPerAddress = try reader.integer("server.maximumConnectionsPerAddress")
        maximumCallsPerTenant = try reader.integer("server.maximumCallsPerTenant")
        trustedProxies = try reader.proxies("server.trustedProxies") ?? trustedProxies
        authenticationFailuresPerAddress =
            try reader.integer("server.authenticationFailuresPerAddress") ?? authenticationFailuresPerAddress
        maximumBlobBytes =
            try reader.integer("server.maximumBlobBytes", in: 1...Int.max).map { Int64($0) } ?? maximumBlobBytes
    }
}

extension Dispatcher.Configuration {
    fileprivate mutating func read(_ reader: SettingsReader) throws(Settings.Failure) {
        concurrency = try reader.integer("worker.concurrency", in: 1...100_000) ?? concurrency
        maximumCrashes = try reader.integer("worker.maximumCrashes", in: 1...1000) ?? maximumCrashes
        drainTimeout = try reader.duration("worker.drainSeconds", of: .seconds, in: 0...86_400) ?? drainTimeout
        longestParking =
            try reader.duration("worker.maximumParkingSeconds", of: .seconds, in: 1...86_400) ?? longestParking
        lease = try reader.duration("worker.leaseSeconds", of: .seconds, in: 1...3600) ?? lease
    }
}

extension CacheKeeper.Configuration {
    fileprivate mutating func read(_ reader: SettingsReader) throws(Settings.Failure) {
        capacity = try reader.integer("cache.capacityBytes", in: 0...Int.max).map { Int64($0) } ?? capacity
        memoryCapacity = try reader.integer("cache.memoryBytes", in: 0...Int.max).map { Int64($0) } ?? memoryCapacity
    }
}

extension WebhookCourier.Configuration {
    fileprivate mutating func read(_ reader: SettingsReader) throws(Settings.Failure) {
        concurrency = try reader.integer("webhooks.concurrency", in: 1...100_000) ?? concurrency
        concurrencyPerEndpoint =
            try reader.integer("webhooks.concurrencyPerEndpoint", in: 1...100_000) ?? concurrencyPerEndpoint
        // A message that is claimed is another node's to send after a minute.
        timeout = try reader.duration("webhooks.timeoutSeconds", of: .seconds, in: 0.1...50) ?? timeout
    }
}
