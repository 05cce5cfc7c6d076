import ArgumentParser
import Configuration
import FetchEngine
import Logging
import ServiceLifecycle
import UnixSignals

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Runs the service: API, workers, webhooks and dashboard.",
        discussion: """
            Further settings, by environment variable:

              GUARD_ALLOW                          addresses that jobs and webhooks may reach although they are not
                                                   public: "127.0.0.1:9000, 10.0.0.0/8, *.internal.example"
              KERBEROS_REALMS                      realms whose principals jobs may use, with the addresses of their key
                                                   distribution centres: "CORP.EXAMPLE=10.0.0.5 10.0.0.6:88" (none)
              WORKER_CONCURRENCY                   jobs a node runs at once (4096, or what an eighth of the memory and
                                                   the limit of open files have room for); an eighth more is kept
                                                   for tenants below their share
              WORKER_MAXIMUM_CONNECTIONS_PER_HOST  HTTP/1.1 connections of a tenant to one host (6)
              WORKER_DRAIN_SECONDS                 time for running jobs to finish at a stop (20)
              WORKER_LEASE_SECONDS                 time after which a silent node's jobs are given to others (15)
              WORKER_MAXIMUM_PARKING_SECONDS       time for which a host is left alone at most when it asks for that by
                                                   Retry-After or RateLimit (3600)
              WORKER_MAXIMUM_CRASHES               nodes that a job may take down by itself before it fails (3)
              TENANTS_MAXIMUM_WAITING_JOBS         jobs a tenant may have waiting, beyond which more are refused, unless
                                                   "fetchd tenants set" says otherwise (no limit)
              WEBHOOKS_CONCURRENCY                 webhooks sent at once (256), shared by tenants and endpoints
              WEBHOOKS_CONCURRENCY_PER_ENDPOINT    those of them to one endpoint (8)
              WEBHOOKS_TIMEOUT_SECONDS             time for a receiver to answer (15)
              SERVER_MAXIMUM_CONNECTIONS           connections to the API (10000, or what the limit of open files
                                                   leaves for them: a 32nd of it, at least 64)
              SERVER_MAXIMUM_CONNECTIONS_PER_ADDRESS
                                                   those of them from one address, unless it is a trusted proxy's (half)
              SERVER_MAXIMUM_CALLS_PER_TENANT      calls of one tenant that are being answered at once (half of the
                                                   connections)
              SERVER_TRUSTED_PROXIES               proxies whose Forwarded or X-Forwarded-For says who asks: addresses
                                                   and blocks, "127.0.0.1, 10.0.0.0/8" (none)
              SERVER_AUTHENTICATION_FAILURES_PER_ADDRESS
                                                   wrong keys from one address in a minute, beyond which they are
                                                   answered with 429 (10); a right key always passes
              DATABASE_MIGRATE                     false: leave the schema to "fetchd migrate" (true)
              DATABASE_DIRECT_URL                  the same PostgreSQL past a pooler in transaction mode
              DATABASE_PREPARED_STATEMENTS         false: behind such a pooler (true)
              DATABASE_GIVE_UP_SECONDS             time for the database to come back before the node ends (600)
              FETCHD_MASTER_KEYS                   what secrets in the database are sealed with, as 1:BASE64 of
                                                   32 bytes, a new key before older ones; required with DATABASE_URL,
                                                   otherwise made once and kept in the data directory

              FETCHD_BOOTSTRAP_KEY                 an API key as "fetchd keys generate" prints it: stored where there is
                                                   none yet, so that a container can begin

            The first signal to stop lets running jobs finish; a second one ends the program at once.

            Exit codes: 0 stopped as asked, 64 wrong usage, 69 the database cannot be reached, 78 a setting is wrong.
            """
    )

    @Option(help: "The address to listen at (SERVER_HOST, 127.0.0.1).")
    var host: String?

    @Option(help: "The port to listen at (SERVER_PORT, 8080).")
    var port: Int?

    @Option(
        help: ArgumentHelp(
            "How other nodes reach this one (FETCHD_NODE_URL).",
            discussion: "By default the address it listens at, unless that stands for all of the machine's.",
            valueName: "url"
        )
    )
    var nodeURL: String?

    @OptionGroup var options: SettingsOptions

    func run() async throws {
        try await ExitError.reporting {
            var values: [AbsoluteConfigKey: ConfigValue] = [:]
            values["server.host"] = host.map { ConfigValue(.string($0), isSecret: false) }
            values["fetchd.node.url"] = nodeURL.map { ConfigValue(.string($0), isSecret: false) }
            values["server.port"] = port.map { ConfigValue(.string(String($0)), isSecret: false) }
            DescriptorLimits.raise()
            let settings = try options.settings(values)
            // Now, while nobody else looks at the environment.
            do { try settings.session.authentication.kerberosRealms?.enter() } catch {
                throw ExitError(.configuration, "KERBEROS_REALMS: \(error)")
            }
            let logger = Logger.make(settings.logLevel)
            let database = try await Database(settings, logger: logger)
            var services: [ServiceGroupConfiguration.ServiceConfiguration] = []
            if let cluster = database.cluster {
                services.append(.init(service: cluster, failureTerminationBehavior: .gracefullyShutdownGroup))
            }
            services.append(
                .init(
                    service: NodeService(settings: settings, database: database, logger: logger),
                    successTerminationBehavior: .gracefullyShutdownGroup,
                    failureTerminationBehavior: .gracefullyShutdownGroup
                )
            )
            var configuration = ServiceGroupConfiguration(services: services, logger: logger)
            configuration.gracefulShutdownSignals = [.sigterm, .sigint]
            try await ServiceGroup(configuration: configuration).run()
        }
    }
}
