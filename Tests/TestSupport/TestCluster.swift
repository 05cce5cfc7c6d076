import Foundation
import Postgres

/// The PostgreSQL server of a test process.
///
/// It is made when first asked for and goes with the process, even a killed one.
actor TestCluster {
    static let shared = TestCluster()

    private enum Template {
        case making([CheckedContinuation<Void, Never>])
        case made
    }

    nonisolated private let socketDirectory: String
    /// Watches the server: the end of this program's input, which is the end of this process, is the server's end.
    private let watcher: Program
    nonisolated private let administrator: Client
    private var templates: [String: Template] = [:]

    private init() {
        do {
            watcher = try Program(["/bin/sh", "-c", Self.script], holdsInput: true, readsOutput: true)
        } catch {
            fatalError("no shell for the test server: \(error)")
        }
        let firstLine = watcher.nextOutput()
        guard firstLine.hasPrefix("/"), firstLine.hasSuffix("\n") else {
            fatalError("the test server did not start; PostgreSQL's server package must be installed. \(firstLine)")
        }
        socketDirectory = String(firstLine.dropLast())
        var configuration = Client.Configuration(
            connectionString: Self.connectionString(socketDirectory: socketDirectory, database: "postgres"))
        configuration.maximumConnections = 4
        configuration.acquireTimeout = .seconds(60)
        administrator = Client(configuration, loop: TestDatabase.loop, logger: TestDatabase.logger)
    }

    /// Runs until its input ends, then stops the server and removes its own files.
    ///
    /// PostgreSQL refuses to run as root, so root hands the server to the user that its package made.
    private static let script = #"""
        set -eu
        trap '' INT HUP TERM
        bin=$(pg_config --bindir 2>/dev/null || true)
        [ -x "$bin/initdb" ] || bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
        # Each test has a database of hundreds of files: where there is memory for them they are nobody's disk's work.
        base=/tmp
        [ "$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1)" -lt 4194304 ] 2>/dev/null || base=/dev/shm
        dir=$(mktemp -d "$base/fetchd-test.XXXXXX" 2>/dev/null || mktemp -d /tmp/fetchd-test.XXXXXX)
        as=
        if [ "$(id -u)" = 0 ]; then
            chown postgres "$dir"
            as="setpriv --reuid=postgres --regid=postgres --init-groups"
        fi
        cd "$dir"
        # start DIRECTORY: a server that is reached there; its process is $server.
        start() {
            $as "$bin/initdb" -D "$1/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 -N >>"$dir/log" 2>&1 || fail
            [ "${TEST_SHARDED:-}" != citus ] || {
                echo "shared_preload_libraries = 'citus'"
                echo "citus.local_hostname = '$1'"
                echo "citus.shard_count = 4"
                echo "max_prepared_transactions = 100"
                echo "max_worker_processes = 100"
                echo "max_locks_per_transaction = 1000"
            } >>"$1/data/postgresql.conf"
            $as "$bin/postgres" -D "$1/data" -k "$1" -c listen_addresses= -c fsync=off -c full_page_writes=off \
                -c max_connections=200 -c shared_buffers=64MB -c jit=off -c autovacuum_naptime=5min \
                </dev/null >>"$dir/log" 2>&1 &
            server=$!
            until "$bin/pg_isready" -q -h "$1" -U postgres; do
                kill -0 "$server" 2>/dev/null || fail
                sleep 0.02
            done
        }
        fail() {
            [ -z "${worker:-}" ] || kill -INT "$worker"
            cat "$dir/log"
            rm -rf "$dir"
            exit 1
        }
        [ "${TEST_SHARDED:-}" != citus ] || {
            $as mkdir "$dir/worker"
            start "$dir/worker"
            worker=$server
        }
        start "$dir"
        echo "$dir"
        exec >/dev/null
        cat >/dev/null
        kill -INT "$server" ${worker:-}
        wait "$server" || true
        [ -z "${worker:-}" ] || wait "$worker" || true
        rm -rf "$dir"
        """#

    nonisolated func connectionString(database: String) -> String {
        Self.connectionString(socketDirectory: socketDirectory, database: database)
    }

    private static func connectionString(socketDirectory: String, database: String) -> String {
        "host=\(socketDirectory) user=postgres dbname=\(database)"
    }

    /// Where the worker of Citus is, whose directory is with the coordinator's.
    nonisolated private var workerDirectory: String { socketDirectory + "/worker" }

    /// Has Citus know this database at the coordinator and the worker.
    nonisolated func join(_ database: String, on coordinator: Connection) async throws {
        try await onWorker("postgres") { try await $0.query("CREATE DATABASE \(.identifier(database))") }
        try await onWorker(database) { try await $0.query("CREATE EXTENSION citus") }
        try await coordinator.query("CREATE EXTENSION citus")
        try await coordinator.query("SELECT citus_set_coordinator_host(\(socketDirectory), 5432)")
        try await coordinator.query("SELECT citus_add_node(\(workerDirectory), 5432)")
    }

    nonisolated func dropFromWorker(_ database: String) async throws {
        try await onWorker("postgres") { try await $0.query("DROP DATABASE \(.identifier(database)) WITH (FORCE)") }
    }

    nonisolated private func onWorker(_ database: String, _ body: (Connection) async throws -> Void) async throws {
        let place = Self.connectionString(socketDirectory: workerDirectory, database: database)
        let connection = try await Connection.open(.init(connectionString: place), on: TestDatabase.loop)
        do { try await body(connection) } catch {
            await connection.close()
            throw error
        }
        await connection.close()
    }

    @discardableResult
    nonisolated func administrate(_ statement: Query) async throws -> Rows { try await administrator.query(statement) }

    /// The name of a database that has had these migrations.
    func template(for migrations: [Migration]) async throws -> String {
        let name = "template_" + String(Self.fingerprint(of: migrations), radix: 36)
        switch templates[name] {
        case .made: return name
        case .making(let waiting):
            await withCheckedContinuation { templates[name] = .making(waiting + [$0]) }
            return try await template(for: migrations)
        case nil:
            templates[name] = .making([])
            do {
                try await make(name, migrations)
                settle(name, as: .made)
                return name
            } catch {
                settle(name, as: nil)
                throw error
            }
        }
    }

    private func settle(_ name: String, as template: Template?) {
        guard case .making(let waiting) = templates[name] else { return }
        templates[name] = template
        waiting.forEach { $0.resume() }
    }

    private func make(_ name: String, _ migrations: [Migration]) async throws {
        try await administrate("DROP DATABASE IF EXISTS \(.identifier(name))")
        try await administrate("CREATE DATABASE \(.identifier(name))")
        guard !migrations.isEmpty else { return }
        let configuration = Connection.Configuration(connectionString: connectionString(database: name))
        let connection = try await Connection.open(configuration, on: TestDatabase.loop)
        do {
            try await Migrations(migrations).apply(on: connection)
            await connection.close()
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Equal within a process for equal migrations, which is all a name needs.
    private static func fingerprint(of migrations: [Migration]) -> UInt {
        var hasher = Hasher()
        for migration in migrations {
            hasher.combine(migration.name)
            hasher.combine(migration.sql)
        }
        return UInt(bitPattern: hasher.finalize())
    }
}
