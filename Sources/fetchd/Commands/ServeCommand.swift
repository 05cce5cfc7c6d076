import ArgumentParser
import FetchAPI
import FetchEngine
import FetchJobs
import FetchRuntime
import FetchStorage
import FoundationEssentials
import Glibc
import Logging
import ServiceLifecycle
import UnixSignals

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Runs the service: API, workers, webhooks and dashboard.",
        discussion: """
            All settings, by environment variable; a flag counts for more:

            \(Settings.help)

            The first signal to stop has readiness say 503 for SERVER_LAME_DUCK_SECONDS, lets requests end for 10 s, \
            and then running jobs for WORKER_DRAIN_SECONDS; a second one gives the jobs that still run to other nodes \
            at once, and a third ends the program.

            Exit codes: 0 stopped as asked, 64 wrong usage, 69 the database cannot be reached, 78 a setting is wrong or \
            the machine lacks something.
            """
    )

    @OptionGroup var options: ServeOptions

    func run() async throws {
        try await ExitError.reporting {
            Crash.leavesNothing()
            DescriptorLimits.raise()
            var settings = try options.settings()
            #if DEBUG
                try Crash.followEnvironment(ProcessInfo.processInfo.environment)
            #endif
            settings.server.settings = settings.shown(try options.sources())
            settings.server.version = Fetchd.version
            settings.server.schemaVersion = Schema.version
            // Now, while no other thread reads the environment.
            do { try settings.session.authentication.kerberosRealms?.enter() } catch {
                throw ExitError(.configuration, "KERBEROS_REALMS: \(error)")
            }
            let timeZones = Examination.timeZones(TimeZone.directory)
            // A node that cannot read the zone of a schedule would let it rest for all nodes.
            if let advice = timeZones.advice { throw ExitError(.configuration, "\(timeZones.text): \(advice)") }
            let log = ProgramLog.standardError(settings.logFormat)
            let logger = log.logger(settings.logLevel)
            let metrics = MetricsRegistry()
            let database = try await Database(settings, metrics: metrics, logger: logger)
            let forced = ForcedStop()
            // The first to start is the last to stop.
            var services = [
                ServiceGroupConfiguration.ServiceConfiguration(named: SuppressedLines(log: log)),
                .init(named: FurtherSignals(forced: forced)),
            ]
            if let cluster = database.cluster {
                services.append(.init(named: cluster, failureTerminationBehavior: .gracefullyShutdownGroup))
            }
            services.append(
                .init(
                    named: NodeService(
                        settings: settings, database: database, forced: forced, metrics: metrics, logger: logger),
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

/// Hears what the service group does not: the signals to stop after the first.
private struct FurtherSignals: Service {
    let forced: ForcedStop

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var count = 0
            for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) {
                count += 1
                if count == 2 { forced.force() }
                // Whatever keeps it, such as a database that hangs.
                if count > 2 { _exit(EXIT_FAILURE) }
            }
        }
        try await gracefulShutdown()
    }
}
