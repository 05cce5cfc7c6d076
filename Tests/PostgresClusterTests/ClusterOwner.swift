import EventLoop
import Foundation
import Postgres
import TestSupport
import Testing

/// A process that owns a private cluster, or tries to: `fetchd db serve`.
final class ClusterOwner {
    private let process: Program

    /// The program built beside these tests.
    static let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "fetchd").path

    /// - Parameter user: The user who runs it, when not this one; only root may name one.
    init(_ place: ClusterDirectory, as user: String? = nil, binaries: String? = nil) throws {
        var command = [Self.program, "db", "serve", "--database-directory", place.cluster]
        command += ["--runtime-directory", place.runtime]
        if let binaries { command += ["--pg-bindir", binaries] }
        if let user {
            let group = "\(try #require(getpwnam(user)).pointee.pw_gid)"
            command = ["/usr/bin/setpriv", "--reuid", user, "--regid", group, "--clear-groups"] + command
        }
        process = try Program(command, readsOutput: true, readsErrors: true)
    }

    /// The connection string it prints when the database answers; nil when it ends without.
    func connectionString() -> String? {
        let line = process.nextOutput()
        return line.isEmpty ? nil : line.trimmingCharacters(in: .newlines)
    }

    func connect() async throws -> Connection {
        let string = try #require(connectionString(), "the owner ended: \(complaint())")
        return try await Connection.open(Connection.Configuration(connectionString: string), on: TestDatabase.loop)
    }

    /// Its standard error until it ended.
    func complaint() -> String {
        let text = process.errors()
        _ = process.waitForEnd()
        return text
    }

    func send(_ signal: Int32) { process.send(signal) }

    /// Stops it in an orderly way and waits for its end.
    func stop() {
        send(SIGTERM)
        _ = process.waitForEnd()
    }

    var exitStatus: Int32 { process.waitForEnd() }
}

/// A place for a private cluster that is removed afterwards.
final class ClusterDirectory {
    let root: String
    /// The cluster's own directory.
    let cluster: String
    let runtime: String

    /// - Parameter owner: The owner of the place, when not this user.
    init(nesting: Int = 0, owner: String? = nil) throws {
        root = "/tmp/fetchd-cluster-\(UUID().uuidString.prefix(8))"
        runtime = root
        cluster = root + String(repeating: "/a-rather-long-name-of-a-directory", count: nesting) + "/postgres"
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        if let owner { chown(root, try #require(getpwnam(owner)).pointee.pw_uid, gid_t.max) }
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    /// With everything another process may do to a cluster in between.
    var data: String {
        get throws {
            let names = try FileManager.default.contentsOfDirectory(atPath: cluster).filter { $0.hasPrefix("pg") }
            return "\(cluster)/" + (try #require(names.count == 1 ? names.first : nil, "not one cluster: \(names)"))
        }
    }

    var postmaster: pid_t { get throws { try #require(try startedPostmaster) } }

    /// Nil while a starting server has not written its number yet.
    var startedPostmaster: pid_t? {
        get throws {
            let text = try String(contentsOfFile: "\(try data)/postmaster.pid", encoding: .utf8)
            return pid_t(text.prefix { $0.isNumber })
        }
    }

    /// Returns when no supervisor holds the cluster: its end releases the lock.
    func waitForLock() throws {
        let descriptor = open("\(cluster)/lock", O_RDWR)
        defer { close(descriptor) }
        try #require(descriptor >= 0 && flock(descriptor, LOCK_EX) == 0)
    }

    /// Stops everything that a failed test left running, so that nothing outlives the tests.
    func sweep() {
        if let postmaster = try? postmaster { kill(postmaster, SIGINT) }
    }
}
