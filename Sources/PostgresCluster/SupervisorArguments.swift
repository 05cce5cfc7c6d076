/// The arguments of a supervisor on its command line, from the owner of a private cluster.
struct SupervisorArguments: Hashable, Sendable {
    /// The cluster's place; see ``ClusterPlace``.
    var directory: String
    var socketDirectory: String
    /// Where `initdb` and `postgres` are.
    var binaries: String
    var major: Int
    /// The operating system's users who may connect.
    var users: [String]

    init(directory: String, socketDirectory: String, binaries: String, major: Int, users: [String]) {
        self.directory = directory
        self.socketDirectory = socketDirectory
        self.binaries = binaries
        self.major = major
        self.users = users
    }

    init?(_ arguments: [String]) {
        guard arguments.count >= 5, let major = Int(arguments[3]) else { return nil }
        self.init(
            directory: arguments[0], socketDirectory: arguments[1], binaries: arguments[2], major: major,
            users: Array(arguments[4...]))
    }

    var list: [String] { [directory, socketDirectory, binaries, "\(major)"] + users }

    var dataDirectory: String { "\(directory)/pg\(major)" }
}

/// The meaning of a supervisor's exit status.
enum SupervisorOutcome: Int32, Sendable {
    /// It was told to stop, and the server is down.
    case stopped = 0
    /// Another supervisor has the cluster.
    case locked = 3
    case creationFailed = 4
    /// The server could not be started, or went without being told to.
    case serverGone = 5
    case invalidArguments = 64
}
