package import EventLoop
import FoundationEssentials
import Glibc
package import Logging
import Postgres
import ServiceLifecycle
import Subprocess
import SystemPackage

/// A PostgreSQL server of the service's own, on one machine, over a Unix socket.
///
/// It is created when there is none, and started when it does not run. It stops when ``run()`` ends, or when this
/// process dies in any way. A second process on the same directory uses the server of the first, and takes over when
/// the first ends. Data is never deleted.
package struct PrivateCluster: Service {
    package struct Configuration: Sendable {
        /// The cluster's own directory.
        ///
        /// It is made when it is missing, belongs to the database user, and nothing else lives there.
        package var directory: String
        /// Where the socket goes when the path below `directory` is too long for one.
        package var runtimeDirectory = "/tmp"
        /// The user to run PostgreSQL as; nil chooses.
        ///
        /// Only root can name another than itself.
        package var databaseUser: String?
        /// Where `initdb` and `postgres` are; nil looks in the usual places.
        package var binaryDirectory: String?
        /// The program whose `supervise-postgres` command keeps the server: this one.
        package var supervisor = "/proc/self/exe"
        /// How long to wait for another process that holds the cluster without a server that answers.
        package var lockTimeout: Duration = .seconds(30)

        package init(directory: String) { self.directory = directory }
    }

    private enum Outcome {
        case stopped
        case locked
        case failed(PrivateClusterError, wasReady: Bool)
    }

    private let configuration: Configuration
    private let place: ClusterPlace
    private let arguments: SupervisorArguments
    private let loop: EventLoop
    private let logger: Logger
    private let readiness = ClusterReadiness()

    /// The database on it that is the service's, as the superuser: for people, not for the service.
    package var connectionString: String { place.connectionString(database: ClusterRoles.database) }

    /// The same for the owner of the schema, which runs migrations.
    package var ownerConnectionString: String {
        place.connectionString(database: ClusterRoles.database, role: ClusterRoles.owner)
    }

    /// The same for the running service.
    package var serviceConnectionString: String {
        place.connectionString(database: ClusterRoles.database, role: ClusterRoles.service)
    }

    /// Whether the server can be used, and why not.
    package var state: ClusterState { readiness.state }

    /// Whether one was made already.
    package static func exists(_ configuration: Configuration) -> Bool {
        ClusterPlace.existingMajor(in: normalized(configuration.directory)) != nil
    }

    /// Looks whether one can be made, and makes nothing.
    package static func examine(_ configuration: Configuration) async throws(PrivateClusterError) {
        _ = try OSUser.forDatabase(named: configuration.databaseUser)
        _ = try await ServerBinaries.locate(in: configuration.binaryDirectory, needed: nil)
    }

    /// Chooses the user, finds PostgreSQL and makes the directories; starts nothing.
    package init(_ configuration: Configuration, loop: EventLoop, logger: Logger) async throws(PrivateClusterError) {
        self.configuration = configuration
        self.loop = loop
        self.logger = logger
        let user = try OSUser.forDatabase(named: configuration.databaseUser)
        place = ClusterPlace(
            directory: Self.normalized(configuration.directory), runtimeDirectory: configuration.runtimeDirectory,
            user: user)
        let binaries = try await ServerBinaries.locate(
            in: configuration.binaryDirectory, needed: place.existingMajor)
        try place.prepare()
        arguments = SupervisorArguments(
            directory: place.directory, socketDirectory: place.socketDirectory, binaries: binaries.directory,
            major: binaries.major, users: Set([user.name, OSUser.current?.name, "root"].compactMap { $0 }).sorted())
    }

    /// Absolute and without a slash at its end: PostgreSQL and our supervisor work elsewhere.
    private static func normalized(_ path: String) -> String {
        let absolute = path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
        return "/" + absolute.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }

    /// Returns when the server answers; throws when it cannot be started, or was stopped.
    package func waitUntilReady() async throws { try await readiness.wait() }

    /// Keeps the server until graceful shutdown or cancellation, and stops it then.
    ///
    /// Throws when the server cannot be started at all. Later failures are retried without end, and ``state`` shows them.
    package func run() async throws {
        do {
            try await keep()
            readiness.become(.stopped)
        } catch {
            readiness.become((error as? PrivateClusterError).map(ClusterState.failing) ?? .stopped)
            readiness.end()
            throw error
        }
        readiness.end()
    }

    private func keep() async throws {
        logger.info("private database", metadata: ["database.directory": "\(place.directory)"])
        var backoff = Backoff(initial: .milliseconds(200), maximum: .seconds(10))
        var failures = 0
        var lockedSince: ContinuousClock.Instant?
        while true {
            switch try await own() {
            case .stopped: return
            case .locked:
                guard !Task.isShuttingDownGracefully, !Task.isCancelled else { return }
                let start = lockedSince ?? .now
                lockedSince = try await attach() ? nil : start
                if start.duration(to: .now) > configuration.lockTimeout, lockedSince != nil { throw lockError }
            case .failed(let error, let wasReady):
                // Cancelled: the supervisor was ended by that, and so would the next one be.
                guard !Task.isCancelled else { return }
                if wasReady { (failures, lockedSince) = (0, nil) }
                failures += 1
                if failures >= 5 {
                    guard readiness.wasReady else { throw error }
                    readiness.become(.failing(error))
                }
                if failures == 1 { backoff.reset() }
                // At shutdown too: a killed supervisor leaves a server behind, which the next one stops.
                await pause(backoff.next())
            }
        }
    }

    private var lockError: PrivateClusterError {
        PrivateClusterError(
            .locked,
            "Another process holds \(place.directory) and its server did not answer for \(configuration.lockTimeout). "
                + "Stop that process, or use another --data-directory.")
    }

    /// Ends early at shutdown.
    private func pause(_ duration: Duration) async {
        await cancelWhenGracefulShutdown {
            // Cancelled: the caller looks at why.
            try? await Task.sleep(for: duration)
        }
    }

    // MARK: Owning

    private func own() async throws -> Outcome {
        let journal = ClusterJournal(logger: logger)
        let readyBefore = readiness.count
        let result = try await Subprocess.run(
            .path(FilePath(configuration.supervisor)),
            arguments: Arguments(
                executablePathOverride: "fetchd", remainingValues: ["supervise-postgres"] + arguments.list),
            environment: Self.supervisorEnvironment,
            workingDirectory: FilePath(place.directory),
            platformOptions: supervisorOptions,
            input: .inputWriter, output: .sequence, error: .sequence
        ) { execution in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await journal.record(execution.standardError) }
                group.addTask { try await becomeReady(isOwner: true) }
                group.addTask { try await stopAtShutdown(execution.standardInputWriter) }
                // The supervisor prints nothing; the end of its output is its own.
                for try await _ in execution.standardOutput {}
                group.cancelAll()
                // The output of the others ended with the supervisor.
                while let ended = await group.nextResult() { _ = ended }
            }
        }
        let wasReady = readiness.count > readyBefore
        readiness.become(.starting)
        switch result.terminationStatus {
        case .exited(SupervisorOutcome.stopped.rawValue): return .stopped
        case .exited(SupervisorOutcome.locked.rawValue): return .locked
        case .exited(SupervisorOutcome.creationFailed.rawValue):
            throw PrivateClusterError(.creationFailed, "The database could not be made. \(journal.reason)")
        default:
            return .failed(
                PrivateClusterError(.startFailed, "PostgreSQL stopped or did not start. \(journal.reason)"),
                wasReady: wasReady)
        }
    }

    /// The environment of the supervisor: it outlives us, and our own variables are not its business.
    private static var supervisorEnvironment: Environment {
        var values: [Environment.Key: String] = [
            "PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "SWIFT_BACKTRACE": "enable=no",
        ]
        // The place of this program's libraries, when it is not the one in the program itself.
        if let path = getenv("LD_LIBRARY_PATH") { values["LD_LIBRARY_PATH"] = String(cString: path) }
        return .custom(values)
    }

    private var supervisorOptions: PlatformOptions {
        var options = PlatformOptions()
        if geteuid() == 0 {
            options.userID = place.user.id
            options.groupID = place.user.group
            options.supplementaryGroups = place.user.groups
        }
        options.createSession = true
        // Only reached when our task is cancelled instead of shut down; the last resort ends the supervisor, not the
        // server, which the next supervisor takes over.
        options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: .seconds(15))]
        return options
    }

    private func stopAtShutdown(_ writer: StandardInputWriter) async throws {
        try await gracefulShutdown()
        try await writer.finish()
    }

    // MARK: Being ready

    private func probe(_ database: String) -> Connection.Configuration {
        var probe = Connection.Configuration(connectionString: place.connectionString(database: database))
        probe.connectTimeout = .seconds(5)
        return probe
    }

    /// Tries until the server answers; the caller cancels this when the server has failed.
    private func becomeReady(isOwner: Bool) async throws {
        while true {
            do {
                let connection = try await Connection.open(probe("postgres"), on: loop)
                try await makeDatabase(on: connection)
                await connection.close()
                return readiness.become(.ready(isOwner: isOwner))
            } catch {
                // Starting, recovering, or full: the server's own message is in its log already.
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    private func makeDatabase(on connection: Connection) async throws {
        try await ClusterRoles.make(on: connection)
        // A failure here releases the connection, which closes it.
        let inside = try await Connection.open(probe(ClusterRoles.database), on: loop)
        try await ClusterRoles.restrict(on: inside)
        await inside.close()
    }

    // MARK: Attaching

    /// Looks every second, because no event tells: a killed supervisor frees the lock while its server lives on.
    private func waitUntilOwnerless() async {
        let descriptor = open("\(place.directory)/lock", O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
        }
    }

    /// Uses the server of another process until that server ends, or until it has no owner.
    ///
    /// - Returns: false when it does not answer.
    private func attach() async throws -> Bool {
        let connection: Connection
        do {
            connection = try await Connection.open(probe("postgres"), on: loop)
            try await makeDatabase(on: connection)
        } catch {
            // It starts, or ends with its owner.
            await pause(.milliseconds(100))
            return false
        }
        readiness.become(.ready(isOwner: false))
        logger.info("private database of another process", metadata: ["database.directory": "\(place.directory)"])
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await connection.waitUntilClosed() }
                group.addTask { await waitUntilOwnerless() }
                await group.next()
                group.cancelAll()
            }
        }
        await connection.close()
        readiness.become(.starting)
        return true
    }
}
