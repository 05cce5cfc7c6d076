import FoundationEssentials
import Glibc

/// Where a private cluster lives: its directories, and who may enter them.
struct ClusterPlace: Hashable, Sendable {
    /// The longest path of a socket that fits everywhere, with room for PostgreSQL's lock file beside it.
    private static let longestSocketPath = 90
    static let socketName = ".s.PGSQL.5432"

    /// Holds `pgNN`, `lock` and mostly the socket's directory.
    ///
    /// It belongs to the database user.
    let directory: String
    let socketDirectory: String
    let user: OSUser

    /// - Parameters:
    ///   - directory: An absolute path.
    ///   - runtimeDirectory: Where the socket goes when its path below `directory` would be too long.
    init(directory: String, runtimeDirectory: String, user: OSUser) {
        self.directory = directory
        self.user = user
        let near = "\(directory)/run"
        socketDirectory =
            "\(near)/\(Self.socketName)".utf8.count <= Self.longestSocketPath
            ? near : "\(runtimeDirectory)/fetchd-\(Self.shortName(of: directory))"
    }

    /// A stable short name for a path: FNV-1a, which is enough to tell paths of one machine apart.
    private static func shortName(of path: String) -> String {
        let hash = path.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return String(hash, radix: 36)
    }

    var socket: String { "\(socketDirectory)/\(Self.socketName)" }

    func connectionString(database: String, role: String = ClusterRoles.superuser) -> String {
        "host=\(Self.quoted(socketDirectory)) port=5432 user=\(role) dbname=\(database)"
    }

    private static func quoted(_ value: String) -> String {
        "'" + value.flatMap { $0 == "'" || $0 == "\\" ? ["\\", $0] : [$0] } + "'"
    }

    // MARK: Clusters on disk

    func dataDirectory(major: Int) -> String { "\(directory)/pg\(major)" }

    /// The major of the cluster that is there; the newest of several.
    var existingMajor: Int? { Self.existingMajor(in: directory) }

    static func existingMajor(in directory: String) -> Int? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.compactMap { $0.hasPrefix("pg") ? Int($0.dropFirst(2)) : nil }
            .filter { access("\(directory)/pg\($0)/PG_VERSION", F_OK) == 0 }
            .max()
    }

    // MARK: Making and checking

    /// Makes missing directories and refuses those that must not be trusted.
    ///
    /// Existing modes and owners are never changed.
    func prepare() throws(PrivateClusterError) {
        try makeAncestors()
        try makePrivate(directory)
        try makePrivate(socketDirectory)
        if let major = existingMajor { try check(dataDirectory(major: major)) }
    }

    private func makeAncestors() throws(PrivateClusterError) {
        var path = ""
        for name in directory.split(separator: "/").dropLast() {
            path += "/\(name)"
            if mkdir(path, 0o755) != 0 && errno != EEXIST { throw unusable(path, "cannot be made: \(reason)") }
            var status = stat()
            guard stat(path, &status) == 0 else { throw unusable(path, "cannot be looked at: \(reason)") }
            guard isSearchable(status) else {
                throw unusable(
                    path,
                    "cannot be entered by \(user.name). Choose another place with --data-directory, for example "
                        + "/var/lib/fetchd, or allow it: chmod o+x")
            }
        }
    }

    private func isSearchable(_ status: stat) -> Bool {
        if status.st_uid == user.id { return status.st_mode & S_IXUSR != 0 }
        if user.groups.contains(status.st_gid) { return status.st_mode & S_IXGRP != 0 }
        return status.st_mode & S_IXOTH != 0
    }

    /// Made beside its place and moved there when it has its owner: another process may look at the same time.
    private func makePrivate(_ path: String) throws(PrivateClusterError) {
        guard access(path, F_OK) != 0 else { return try check(path) }
        let draft = "\(path).new-\(getpid())"
        guard mkdir(draft, 0o700) == 0 || errno == EEXIST else { throw unusable(path, "cannot be made: \(reason)") }
        guard geteuid() != 0 || lchown(draft, user.id, user.group) == 0 else {
            throw unusable(path, "cannot be given to \(user.name): \(reason)")
        }
        // It takes the place of an empty one, and leaves one that is in use already.
        if rename(draft, path) != 0 { rmdir(draft) }
        try check(path)
    }

    private func check(_ path: String) throws(PrivateClusterError) {
        // A link is not followed: it could lead out of the place.
        var status = stat()
        guard lstat(path, &status) == 0 else { throw unusable(path, "cannot be looked at: \(reason)") }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw unusable(path, "is not a directory") }
        guard status.st_uid == user.id else {
            throw unusable(
                path,
                "belongs to user id \(status.st_uid), not to \(user.name). Run as that user, or choose another with "
                    + "--db-user or another place with --data-directory")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw unusable(path, "can be entered by others. Close it: chmod 700 '\(path)'")
        }
    }

    private var reason: String { String(cString: strerror(errno)) }

    private func unusable(_ path: String, _ what: String) -> PrivateClusterError {
        PrivateClusterError(.directoryUnusable, "The directory \(path) \(what). \(PrivateClusterError.alternative)")
    }
}
