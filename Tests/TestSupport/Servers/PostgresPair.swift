import Foundation
import Glibc
package import Postgres

/// Two PostgreSQL servers on loopback, a primary and its standby, which has every commit before it is answered.
///
/// They go with the process, even a killed one.
package final class PostgresPair: Sendable {
    package struct DoesNotStart: Error, CustomStringConvertible {
        package let description: String
    }

    /// Where the primary listens, and the standby.
    package let ports: [UInt16]
    /// The processes of both.
    private let servers: [Int32]
    /// The end of its input is the end of both servers.
    private let watcher: Program

    package init() async throws {
        let ports = [try LoopbackServer.freePort(), try LoopbackServer.freePort()]
        self.ports = ports
        var environment = ProcessInfo.processInfo.environment
        (environment["A"], environment["B"]) = ("\(ports[0])", "\(ports[1])")
        let watcher = try Program(
            ["/bin/sh", "-c", Self.script], environment: environment, holdsInput: true, readsOutput: true)
        self.watcher = watcher
        let line = try await onThread { watcher.nextOutput() }
        servers = line.split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
        guard servers.count == 2 else { throw DoesNotStart(description: line) }
        try await administrate(0, "ALTER SYSTEM SET synchronous_standby_names = '*'")
        try await administrate(0, "SELECT pg_reload_conf()")
        try await until {
            try await administrate(0, "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'").count == 1
        }
        try await administrate(0, "CREATE DATABASE fetchd")
    }

    private static let script = #"""
        set -eu
        trap '' INT HUP TERM
        bin=$(pg_config --bindir 2>/dev/null || true)
        [ -x "$bin/initdb" ] || bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
        dir=$(mktemp -d /tmp/fetchd-pair.XXXXXX)
        as=
        if [ "$(id -u)" = 0 ]; then
            chown postgres "$dir"
            as="setpriv --reuid=postgres --regid=postgres --init-groups"
        fi
        cd "$dir"
        give_up() { tail -c 2000 "$dir/log" | tr '\n' ' '; rm -rf "$dir"; exit 1; }
        serve() {
            $as "$bin/postgres" -D "$dir/$1" -p "$2" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
                -c fsync=off -c full_page_writes=off -c shared_buffers=32MB -c jit=off -c hot_standby=on \
                </dev/null >>"$dir/log" 2>&1 &
            server=$!
            until "$bin/pg_isready" -q -h 127.0.0.1 -p "$2" -U postgres; do
                kill -0 "$server" 2>/dev/null || give_up
                sleep 0.02
            done
        }
        $as "$bin/initdb" -D "$dir/a" -U postgres -A trust -E UTF8 --locale=C.UTF-8 -N >"$dir/log" 2>&1 || give_up
        serve a "$A"
        primary=$server
        $as "$bin/pg_basebackup" -h 127.0.0.1 -p "$A" -U postgres -D "$dir/b" -R -X stream -c fast \
            >>"$dir/log" 2>&1 || give_up
        serve b "$B"
        echo "$primary $server"
        exec >/dev/null
        cat >/dev/null
        for process in "$primary" "$server"; do
            # What stands still hears of nothing.
            kill -CONT "$process" $(ps -o pid= --ppid "$process") 2>/dev/null || true
            kill -QUIT "$process" 2>/dev/null || true
        done
        wait || true
        rm -rf "$dir"
        """#

    /// A connection string with both servers, as URLs of libpq have it.
    ///
    /// - Parameters:
    ///   - first: Ports of further servers that are asked first.
    ///   - query: Further parameters.
    package func url(behind first: [UInt16] = [], _ query: String = "") -> String {
        let hosts = (first + ports).map { "127.0.0.1:\($0)" }.joined(separator: ",")
        return "postgres://postgres@\(hosts)/fetchd\(query)"
    }

    /// Runs a statement on one of them.
    @discardableResult
    package func administrate(_ server: Int, _ statement: Query, database: String = "postgres") async throws -> Rows {
        let string = "host=127.0.0.1 port=\(ports[server]) user=postgres dbname=\(database)"
        let connection = try await Connection.open(
            Connection.Configuration(connectionString: string), on: TestDatabase.loop)
        do {
            let rows = try await connection.query(statement)
            await connection.close()
            return rows
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Makes the standby a primary, and returns when it takes writes.
    package func promote() async throws { try await administrate(1, "SELECT pg_promote(true, 60)") }

    /// Sends a signal to all processes of a server: they hold its connections.
    package func send(_ signal: Int32, to server: Int) {
        let parent = servers[server]
        // First the one that would make new ones.
        kill(parent, signal)
        for child in Self.children(of: parent) { kill(child, signal) }
    }

    private static func children(of parent: Int32) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.filter { process in
            let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
            return status.firstMatch(of: /PPid:\s+(\d+)/).map { Int32($0.1) == parent } ?? false
        }
    }
}
