extension LoopbackServer {
    /// The path of pgbouncer, or nil where it is not installed.
    package static var pgbouncer: String? { installed("pgbouncer") }

    /// pgbouncer before the server of a connection string: each transaction has whichever connection is free.
    package static func pgbouncer(before database: TestDatabase, connections: Int) async throws -> LoopbackServer {
        let (directory, port) = (try TemporaryDirectory(), try freePort())
        let path = try directory.write(
            """
            [databases]
            * = host=\(database.directory ?? "") user=postgres
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = any
            pool_mode = transaction
            default_pool_size = \(connections)
            max_client_conn = 200
            user = postgres
            logfile = /dev/null

            """, to: "pgbouncer.ini")
        return try await LoopbackServer(in: directory, port: port, [pgbouncer ?? "pgbouncer", "-q", path])
    }
}
