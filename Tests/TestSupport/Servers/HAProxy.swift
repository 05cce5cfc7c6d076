extension LoopbackServer {
    /// The path of haproxy, or nil where it is not installed.
    package static var haproxy: String? { installed("haproxy") }

    /// haproxy before servers of this machine: it follows their readiness, and repeats no request.
    ///
    /// It asks every 100 ms. An answer may take longer on a busy machine: by default it would count as none.
    package static func haproxy(before ports: [UInt16]) async throws -> LoopbackServer {
        let (directory, port) = (try TemporaryDirectory(), try freePort())
        let servers = ports.map { "    server node\($0) 127.0.0.1:\($0)" }
        let path = try directory.write(
            """
            defaults
                mode http
                timeout connect 5s
                timeout client 60s
                timeout server 60s
                timeout http-keep-alive 60s
                timeout check 5s
                retries 0
            frontend all
                bind 127.0.0.1:\(port)
                default_backend nodes
            backend nodes
                balance roundrobin
                option httpchk GET /readyz
                http-check expect status 200
                default-server check inter 100ms fall 2 rise 1
            \(servers.joined(separator: "\n"))

            """, to: "haproxy.cfg")
        return try await LoopbackServer(in: directory, port: port, [haproxy ?? "haproxy", "-db", "-q", "-f", path])
    }
}
