import EventLoop
import Foundation
import Postgres
import TestSupport
import Testing

/// On the real server, with a process of its own as the owner.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct PrivateClusterTests {
    private func setting(_ name: String, on connection: Connection) async throws -> String {
        try #require(await connection.query("SELECT current_setting(\(name))").first).decode(at: 0)
    }

    @Test func `nothing becomes a durable server behind a private socket, and its data is there the next time`()
        async throws
    {
        let place = try ClusterDirectory()
        defer { place.sweep() }
        let first = try ClusterOwner(place)
        let connection = try await first.connect()
        let wanted = [
            "fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "data_checksums": "on",
            "listen_addresses": "", "shared_buffers": "64MB", "max_connections": "40", "wal_level": "minimal",
            "max_wal_senders": "0", "jit": "off", "recovery_init_sync_method": "syncfs", "server_encoding": "UTF8",
        ]
        for (name, value) in wanted { #expect(try await setting(name, on: connection) == value, "\(name)") }
        #expect(try mode(of: "\(place.cluster)/run") == 0o700)
        #expect(try mode(of: place.data) == 0o700)
        try await connection.query("CREATE TABLE t AS SELECT 1 AS n")
        await connection.close()
        first.stop()
        #expect(first.exitStatus == 0)
        #expect(throws: (any Error).self) { try place.postmaster }

        let second = try ClusterOwner(place)
        let again = try await second.connect()
        #expect(try await again.query("SELECT n FROM t").count == 1)
        await again.close()
        second.stop()
    }

    // Proves: SEC-81.
    @Test(.enabled(if: geteuid() == 0)) func `root's server does not run as root`() async throws {
        let place = try ClusterDirectory()
        defer { place.sweep() }
        let owner = try ClusterOwner(place)
        await (try owner.connect()).close()
        var status = stat()
        #expect(stat("/proc/\(try place.postmaster)", &status) == 0 && status.st_uid != 0)
        owner.stop()
    }

    @Test(.enabled(if: geteuid() == 0)) func `an ordinary user's server runs as that user and nobody else gets in`()
        async throws
    {
        let place = try ClusterDirectory(owner: "nobody")
        defer { place.sweep() }
        let owner = try ClusterOwner(place, as: "nobody")
        let connection = try await owner.connect()
        var status = stat()
        let expected = try #require(getpwnam("nobody")).pointee.pw_uid
        #expect(stat("/proc/\(try place.postmaster)", &status) == 0 && status.st_uid == expected)
        let map = try String(contentsOfFile: "\(try place.data)/pg_ident.conf", encoding: .utf8)
        #expect(map.contains("\"nobody\"") && map.contains("\"root\"") && !map.contains("\"postgres\""))
        await connection.close()
        owner.stop()
    }

    @Test func `a path too long for a socket gets one elsewhere`() async throws {
        let place = try ClusterDirectory(nesting: 5)
        defer { place.sweep() }
        let owner = try ClusterOwner(place)
        let connection = try await owner.connect()
        #expect(try await setting("unix_socket_directories", on: connection).contains(place.runtime + "/fetchd-"))
        await connection.close()
        owner.stop()
    }

    @Test func `of two at once one owns, the other uses its server, and takes over when the owner is killed`()
        async throws
    {
        let place = try ClusterDirectory()
        defer { place.sweep() }
        let owners = [try ClusterOwner(place), try ClusterOwner(place)]
        let connections = [try await owners[0].connect(), try await owners[1].connect()]
        try await connections[0].query("CREATE TABLE t AS SELECT 1 AS n")
        #expect(try await connections[1].query("SELECT n FROM t").count == 1)
        let string = "host='\(place.cluster)/run' user=fetchd dbname=fetchd"
        // Whichever owned: after its end the other one's server answers.
        owners[0].send(SIGKILL)
        let client = Self.client(string)
        try await Self.retry { try await client.query("SELECT n FROM t") }
        await client.close()
        for connection in connections { await connection.close() }
        owners[1].stop()
        try place.waitForLock()
    }

    @Test func `the server goes when its owner is killed, in an orderly way`() async throws {
        let place = try ClusterDirectory()
        defer { place.sweep() }
        let owner = try ClusterOwner(place)
        let connection = try await owner.connect()
        owner.send(SIGKILL)
        await connection.waitUntilClosed()
        try place.waitForLock()
        #expect(!FileManager.default.fileExists(atPath: "\(try place.data)/postmaster.pid"))
    }

    @Test func `a killed server is started again and what was committed is there`() async throws {
        let place = try ClusterDirectory()
        defer { place.sweep() }
        let owner = try ClusterOwner(place)
        let string = try #require(owner.connectionString())
        let client = Self.client(string)
        try await client.query("CREATE TABLE t AS SELECT 1 AS n")
        let connection = try await Connection.open(.init(connectionString: string), on: TestDatabase.loop)
        let killed = try place.postmaster
        kill(killed, SIGKILL)
        await connection.waitUntilClosed()
        // A session of the killed server may answer until it notifications, so the new server is waited for first.
        try await until { (try? place.startedPostmaster) ?? killed != killed }
        try await Self.retry { try await client.query("SELECT n FROM t") }
        await client.close()
        owner.stop()
        try place.waitForLock()
    }

    @Test func `a killed supervisor's server is taken over and still stopped in the end`() async throws {
        let place = try ClusterDirectory()
        defer { place.sweep() }
        let owner = try ClusterOwner(place)
        let connection = try await owner.connect()
        let server = try place.postmaster
        let supervisor = try Self.parent(of: server)
        kill(supervisor, SIGKILL)
        // The server goes on answering, and the owner's end still ends it.
        #expect(try await connection.query("SELECT 1").count == 1)
        owner.stop()
        await connection.waitUntilClosed()
        try place.waitForLock()
        #expect(!FileManager.default.fileExists(atPath: "\(try place.data)/postmaster.pid"))
    }

    @Test func `the pid file of a server that is no more does not keep the next from starting`() async throws {
        let place = try ClusterDirectory()
        defer { place.sweep() }
        let first = try ClusterOwner(place)
        await (try first.connect()).close()
        kill(try place.postmaster, SIGKILL)
        first.send(SIGKILL)
        try place.waitForLock()
        let second = try ClusterOwner(place)
        await (try second.connect()).close()
        second.stop()
    }

    @Test func `a creation that is killed leaves no half cluster`() async throws {
        let place = try ClusterDirectory()
        defer { place.sweep() }
        let binaries = try SlowBinaries(in: place.root)
        let first = try ClusterOwner(place, binaries: binaries.directory)
        try binaries.waitUntilCreating()
        first.send(SIGKILL)
        try place.waitForLock()
        let names = try FileManager.default.contentsOfDirectory(atPath: place.cluster)
        #expect(names.contains { $0.hasPrefix("pg15.new-") } && !names.contains("pg15"))
        let second = try ClusterOwner(place)
        await (try second.connect()).close()
        second.stop()
    }

    // Proves: SEC-53.
    @Test func `a data directory open to others is refused, and left as it is`() async throws {
        let place = try ClusterDirectory()
        let first = try ClusterOwner(place)
        await (try first.connect()).close()
        first.stop()
        chmod(try place.data, 0o755)
        let second = try ClusterOwner(place)
        let complaint = second.complaint()
        #expect(second.exitStatus != 0)
        #expect(complaint.contains("chmod 700"), "\(complaint)")
        #expect(try mode(of: place.data) == 0o755)
    }

    @Test func `without PostgreSQL the next step is named`() async throws {
        let place = try ClusterDirectory()
        let owner = try ClusterOwner(place, binaries: "/nonexistent")
        let complaint = owner.complaint()
        #expect(owner.exitStatus != 0)
        #expect(complaint.contains("Install it:") && complaint.contains("DATABASE_URL"), "\(complaint)")
    }

    // MARK: Looking

    private func mode(of path: String) throws -> mode_t {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return status.st_mode & 0o777
    }

    private static func parent(of process: pid_t) throws -> pid_t {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("PPid:") })
        return try #require(pid_t(line.dropFirst(5).trimmingCharacters(in: .whitespaces)))
    }

    private static func client(_ string: String) -> Client {
        var configuration = Client.Configuration(connectionString: string)
        configuration.acquireTimeout = .seconds(60)
        configuration.maximumBackoff = .milliseconds(200)
        return Client(configuration, loop: TestDatabase.loop, logger: TestDatabase.logger)
    }

    /// Asks again while connections break; the client waits for the next one by itself.
    private static func retry(_ query: () async throws -> Rows) async throws {
        for _ in 0..<20 {
            do {
                _ = try await query()
                return
            } catch let error as PostgresError where error.isTransient {
                continue
            }
        }
        Issue.record("the database did not come back")
    }
}
