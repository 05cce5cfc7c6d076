import Glibc

/// A program that a supervisor started, or one it took over from another.
final class ChildProcess {
    private let directory: String?
    private let id: pid_t
    private var status: Int32?

    /// Starts a program with nothing to read; its output goes to our standard error.
    ///
    /// Our standard output stays ours, so that its end tells the owner of our end alone.
    init(_ path: String, _ arguments: [String]) throws(PrivateClusterError) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
        // Variables such as PGDATA or LC_MESSAGES must not change the behaviour of these programs.
        let environment = Self.strings(["PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C"])
        let words = Self.strings([path] + arguments)
        defer { (environment + words).forEach { free($0) } }
        var id: pid_t = 0
        let failure = posix_spawn(&id, path, &actions, nil, words, environment)
        guard failure == 0 else {
            throw PrivateClusterError(.startFailed, "\(path) cannot be started: \(String(cString: strerror(failure))).")
        }
        self.id = id
        directory = nil
    }

    private static func strings(_ strings: [String]) -> [UnsafeMutablePointer<CChar>?] {
        strings.map { strdup($0) } + [nil]
    }

    /// Takes over a server that a killed supervisor left; nil when the process is not a server that runs there.
    init?(adopting id: pid_t, in directory: String) {
        self.id = id
        self.directory = directory
        guard id > 1, isAdoptedRunning else { return nil }
    }

    /// Whether SIGCHLD announces its end.
    var isChild: Bool { directory == nil }

    /// PostgreSQL works in its data directory.
    ///
    /// A process that has ended has none, even before it is reaped.
    private var isAdoptedRunning: Bool {
        guard let directory else { return false }
        return ClusterFiles.isSame("/proc/\(id)/cwd", directory)
            && ClusterFiles.firstLine(of: "/proc/\(id)/comm") == "postgres"
    }

    func signal(_ signal: Int32) {
        if exitStatus() == nil { kill(id, signal) }
    }

    /// Nil while it runs; 0 when it ended well or when that cannot be known.
    func exitStatus() -> Int32? {
        if let status { return status }
        var raw: Int32 = 0
        if isChild {
            guard waitpid(id, &raw, WNOHANG) == id else { return nil }
        } else {
            guard !isAdoptedRunning else { return nil }
        }
        status = raw
        return raw
    }
}
