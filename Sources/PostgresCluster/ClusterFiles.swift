import FoundationEssentials
import Glibc

/// The files of a private cluster that are ours.
///
/// They are written anew at each start.
struct ClusterFiles {
    private let arguments: SupervisorArguments

    init(_ arguments: SupervisorArguments) { self.arguments = arguments }

    func write(to directory: String) throws(PrivateClusterError) {
        try write(settings, to: "\(directory)/fetchd.conf")
        try write(hostBasedAuthentication, to: "\(directory)/pg_hba.conf")
        try write(users, to: "\(directory)/pg_ident.conf")
    }

    /// Once, when the cluster is made.
    func includeSettings(in directory: String) throws(PrivateClusterError) {
        let path = "\(directory)/postgresql.conf"
        do {
            let original = try String(contentsOfFile: path, encoding: .utf8)
            try write(original + "\ninclude 'fetchd.conf'\n", to: path)
        } catch let error as PrivateClusterError {
            throw error
        } catch {
            throw PrivateClusterError(.creationFailed, "\(path) cannot be read: \(error).")
        }
    }

    /// Replaces the file in one step, and only when something changed.
    private func write(_ text: String, to path: String) throws(PrivateClusterError) {
        if (try? String(contentsOfFile: path, encoding: .utf8)) == text { return }
        do {
            try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
        } catch {
            throw PrivateClusterError(.directoryUnusable, "\(path) cannot be written: \(error).")
        }
        chmod(path, 0o600)
    }

    // MARK: Contents

    /// Durability has PostgreSQL's defaults.
    ///
    /// After a crash the file system is synced as a whole instead of file by file, which takes a fifth of the time. The
    /// log has the messages that an operator needs and never quotes statements.
    private var settings: String {
        """
        # Written by fetchd at each start; put your own settings into postgresql.auto.conf with ALTER SYSTEM.
        cluster_name = 'fetchd'
        listen_addresses = ''
        port = 5432
        unix_socket_directories = '"\(arguments.socketDirectory)"'
        unix_socket_permissions = 0700
        max_connections = 40
        shared_buffers = 64MB
        wal_level = minimal
        max_wal_senders = 0
        jit = off
        recovery_init_sync_method = syncfs
        timezone = 'UTC'
        log_timezone = 'UTC'
        logging_collector = off
        log_destination = 'stderr'
        log_line_prefix = ''
        log_checkpoints = off
        log_error_verbosity = terse
        log_min_error_statement = panic
        lc_messages = 'C'

        """
    }

    private var hostBasedAuthentication: String {
        """
        # Written by fetchd at each start.
        local all \(ClusterRoles.all.joined(separator: ",")) peer map=fetchd

        """
    }

    private var users: String {
        "# Written by fetchd at each start.\n"
            + arguments.users.flatMap { user in ClusterRoles.all.map { "fetchd \"\(user)\" \($0)\n" } }.joined()
    }

    // MARK: Leftovers

    /// Removes the drafts that killed creations left beside `directory`.
    ///
    /// No server ever ran on these, so they hold no data.
    static func removeDrafts(of directory: String) {
        let parent = directory.split(separator: "/").dropLast().map { "/\($0)" }.joined()
        let prefix = directory.dropFirst(parent.utf8.count + 1) + ".new-"
        for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] where name.hasPrefix(prefix) {
            // A directory that cannot be removed is only clutter.
            try? FileManager.default.removeItem(atPath: "\(parent)/\(name)")
        }
    }

    // MARK: Reading

    static func firstLine(of path: String) -> String? {
        // A file that is not there has no first line.
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        return text.split(separator: "\n").first.map(String.init)
    }

    /// Whether two paths lead to the same file, also through links.
    static func isSame(_ left: String, _ right: String) -> Bool {
        var (first, second) = (stat(), stat())
        return stat(left, &first) == 0 && stat(right, &second) == 0
            && first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }
}
