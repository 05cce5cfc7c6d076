import EventLoop
import Glibc

/// Keeps the server of a private cluster running while its owner lives.
///
/// It is a process of its own, as the database user and in its own session, so that neither a signal to the owner's
/// terminal nor the owner's sudden death reaches the server. The owner holds the other end of its standard input: when
/// that ends, or at SIGTERM, it stops the server in an orderly way; it never kills it. One supervisor at a time holds
/// the lock of a cluster.
///
/// It is single-threaded and synchronous by intent: it must work when everything else fails.
struct Supervisor {
    private let arguments: SupervisorArguments
    private let events: SupervisorEvents

    /// How long an orderly stop may take before sessions are cut off without a checkpoint.
    private static let patience: Duration = .seconds(10)

    init(_ arguments: SupervisorArguments) throws(PrivateClusterError) {
        self.arguments = arguments
        events = try SupervisorEvents()
    }

    func run() throws(PrivateClusterError) -> SupervisorOutcome {
        guard try lock() else { return .locked }
        if access("\(arguments.dataDirectory)/PG_VERSION", F_OK) != 0 {
            guard try create() else { return .stopped }
        }
        try ClusterFiles(arguments).write(to: arguments.dataDirectory)
        if let orphan = orphan() { return watch(orphan) }
        // The owner may have gone while the cluster was being made.
        if events.next(timeout: 0) == .stop { return .stopped }
        return watch(try start())
    }

    // MARK: The lock

    /// - Returns: false when another has it. It is held until this process ends, and not by its children.
    private func lock() throws(PrivateClusterError) -> Bool {
        let path = "\(arguments.directory)/lock"
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw PrivateClusterError(
                .directoryUnusable, "\(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
        return flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }

    // MARK: Creating

    /// Makes the cluster beside its place and moves it there, so that a cluster in its place is always complete.
    ///
    /// - Returns: false when told to stop meanwhile.
    private func create() throws(PrivateClusterError) -> Bool {
        ClusterFiles.removeDrafts(of: arguments.dataDirectory)
        let draft = "\(arguments.dataDirectory).new-\(getpid())"
        let initdb = try ChildProcess(
            "\(arguments.binaries)/initdb",
            [
                "--pgdata=\(draft)", "--username=\(ClusterRoles.superuser)", "--encoding=UTF8", "--locale=C.UTF-8",
                "--data-checksums",
                "--auth=peer",
            ])
        var isTold = false
        var status = initdb.exitStatus()
        while status == nil {
            if events.next(timeout: -1) == .stop, !isTold {
                // initdb removes its own files.
                isTold = true
                initdb.signal(SIGTERM)
            }
            status = initdb.exitStatus()
        }
        guard !isTold else { return false }
        guard status == 0 else {
            throw PrivateClusterError(.creationFailed, "initdb failed with status \(status ?? -1).")
        }
        let files = ClusterFiles(arguments)
        try files.write(to: draft)
        try files.includeSettings(in: draft)
        guard rename(draft, arguments.dataDirectory) == 0 else {
            throw PrivateClusterError(
                .creationFailed, "\(draft) cannot be moved into place: \(String(cString: strerror(errno))).")
        }
        return true
    }

    // MARK: The server

    private func start() throws(PrivateClusterError) -> ChildProcess {
        try ChildProcess("\(arguments.binaries)/postgres", ["-D", arguments.dataDirectory])
    }

    /// The server that a supervisor left behind when it was killed.
    private func orphan() -> ChildProcess? {
        guard let first = ClusterFiles.firstLine(of: "\(arguments.dataDirectory)/postmaster.pid"),
            let id = pid_t(first)
        else { return nil }
        return ChildProcess(adopting: id, in: arguments.dataDirectory)
    }

    private func watch(_ server: ChildProcess) -> SupervisorOutcome {
        var isStopping = false
        /// When the orderly stop has taken too long; nil before it began and after it was given up.
        var deadline: MonotonicTime?
        while server.exitStatus() == nil {
            let event = events.next(timeout: timeout(until: deadline, for: server))
            if event == .stop, !isStopping {
                isStopping = true
                deadline = .now.advanced(by: Self.patience)
                server.signal(SIGINT)
            } else if let passed = deadline, passed <= .now {
                deadline = nil
                server.signal(SIGQUIT)
            }
        }
        return isStopping ? .stopped : .serverGone
    }

    /// In milliseconds.
    ///
    /// No signal tells of the end of a server that was taken over, so it is looked at.
    private func timeout(until deadline: MonotonicTime?, for server: ChildProcess) -> Int32 {
        let limit: Int32 = server.isChild ? -1 : 100
        guard let deadline else { return limit }
        let rest = Int32(max(0, deadline.nanoseconds(since: .now) / 1_000_000 + 1))
        return limit < 0 ? rest : min(rest, limit)
    }
}

extension PrivateCluster {
    /// The supervisor's whole life, as the hidden command `supervise-postgres`.
    ///
    /// - Returns: the status to exit with.
    package static func supervise(_ arguments: [String]) -> Int32 {
        guard let parsed = SupervisorArguments(arguments) else { return SupervisorOutcome.invalidArguments.rawValue }
        do {
            return try Supervisor(parsed).run().rawValue
        } catch {
            let line = "FATAL:  \(error.message)\n"
            _ = line.withCString { write(STDERR_FILENO, $0, strlen($0)) }
            return (error.code == .creationFailed ? SupervisorOutcome.creationFailed : .serverGone).rawValue
        }
    }
}
