import Glibc

extension LoopbackServer {
    /// Squid, an HTTP proxy.
    ///
    /// It refuses requests to port 9. Its access log is `access.log`: the last words of a line are the user and the
    /// way it went.
    ///
    /// - Parameters:
    ///   - users: `user:password`; with them a credential is wanted.
    ///   - scheme: `basic`, `digest`, or `ntlm`, which believes every password.
    ///   - realm: With it, a ticket for `HTTP/localhost` is wanted.
    ///   - certificate: With it, TLS is spoken on the way to the proxy.
    package static func squid(
        users: [String] = [], scheme: String = "basic", realm: KerberosRealm? = nil,
        certificate: TestAuthority.Leaf? = nil
    ) async throws -> LoopbackServer {
        let (directory, port) = (try TemporaryDirectory(), try freePort())
        // Started by root, it gives up root's rights before it opens its logs.
        chmod(directory.path, 0o777)
        var lines = [
            "pid_filename none", "cache deny all", "access_log stdio:\(directory.file("access.log"))",
            "cache_log \(directory.file("cache.log"))", "coredump_dir \(directory.path)", "pinger_enable off",
            "visible_hostname proxy.test", "shutdown_lifetime 0 seconds", "acl refused port 9",
            "http_access deny refused",
        ]
        if !users.isEmpty {
            let helper = scheme == "basic" ? "basic_ncsa_auth" : "digest_file_auth"
            let accounts = scheme == "basic" ? try await users.asyncMap(hashed) : users
            try directory.write(accounts.joined(separator: "\n") + "\n", to: "users")
            lines +=
                scheme == "ntlm"
                ? ["auth_param ntlm program /usr/lib/squid/ntlm_fake_auth", "auth_param ntlm children 1"]
                : [
                    "auth_param \(scheme) program /usr/lib/squid/\(helper) \(directory.file("users"))",
                    "auth_param \(scheme) children 1", "auth_param \(scheme) realm Proxy",
                ]
        }
        if let realm {
            let keytab = try directory.write(realm.serviceKeys, to: "http.keytab")
            lines += [
                "auth_param negotiate program /usr/lib/squid/negotiate_kerberos_auth -k \(keytab) -s HTTP/localhost",
                "auth_param negotiate children 1",
            ]
        }
        if !users.isEmpty || realm != nil {
            lines += [
                "acl known proxy_auth REQUIRED",
                "http_access allow known", "http_access deny all",
            ]
        }
        lines.append("http_access allow all")
        lines.append(
            certificate.map {
                "https_port 127.0.0.1:\(port) tls-cert=\($0.certificatePath) tls-key=\($0.keyPath)"
            } ?? "http_port 127.0.0.1:\(port)")
        try directory.write(lines.joined(separator: "\n") + "\n", to: "squid.conf")
        // Its shared memory is found by a name that each instance needs for itself.
        let name = "t\(port)"
        removeSharedMemory(of: name)
        return try await LoopbackServer(
            in: directory, port: port, log: "cache.log", environment: realm?.environment,
            [installed("squid") ?? "squid", "-N", "-n", name, "-f", directory.file("squid.conf")]
        ) { removeSharedMemory(of: name) }
    }

    /// Tinyproxy, an HTTP proxy that allows CONNECT to any port.
    package static func tinyproxy(user: (name: String, password: String)? = nil) async throws -> LoopbackServer {
        let (directory, port) = (try TemporaryDirectory(), try freePort())
        chmod(directory.path, 0o777)
        var lines = [
            "Port \(port)", "Listen 127.0.0.1", "Timeout 60", "Allow 127.0.0.1", "MaxClients 50",
            "LogFile \"\(directory.file("tinyproxy.log"))\"", "LogLevel Connect",
        ]
        if let user { lines.append("BasicAuth \(user.name) \(user.password)") }
        try directory.write(lines.joined(separator: "\n") + "\n", to: "tinyproxy.conf")
        return try await LoopbackServer(
            in: directory, port: port, log: "tinyproxy.log",
            [installed("tinyproxy") ?? "tinyproxy", "-d", "-c", directory.file("tinyproxy.conf")])
    }

    /// Dante, a SOCKS 4 and 5 proxy without passwords.
    ///
    /// It refuses requests to port 9. Its log, `dante.log`, has a line for each request.
    package static func dante() async throws -> LoopbackServer {
        let (directory, port) = (try TemporaryDirectory(), try freePort())
        chmod(directory.path, 0o777)
        try directory.write(
            """
            logoutput: \(directory.file("dante.log"))
            internal: 127.0.0.1 port = \(port)
            external: 127.0.0.1
            clientmethod: none
            socksmethod: none
            client pass { from: 0.0.0.0/0 to: 0.0.0.0/0 }
            socks block { from: 0.0.0.0/0 to: 0.0.0.0/0 port = 9 log: connect error }
            socks pass { from: 0.0.0.0/0 to: 0.0.0.0/0 log: connect error }
            socks pass { from: 0.0.0.0/0 to: . log: connect error }

            """, to: "dante.conf")
        return try await LoopbackServer(
            in: directory, port: port, log: "dante.log",
            [installed("danted") ?? "danted", "-f", directory.file("dante.conf"), "-p", directory.file("dante.pid")])
    }

    /// Microsocks, a SOCKS 5 proxy that wants a user name and a password.
    package static func microsocks(user: String, password: String) async throws -> LoopbackServer {
        let port = try freePort()
        return try await LoopbackServer(
            in: TemporaryDirectory(), port: port,
            [
                installed("microsocks") ?? "microsocks", "-i", "127.0.0.1", "-p", "\(port)", "-u", user, "-P", password,
            ])
    }

    /// `user:password` as Apache's tools keep it.
    private static func hashed(_ account: String) async throws -> String {
        let parts = account.split(separator: ":", maxSplits: 1).map(String.init)
        let program = try Program(
            [installed("openssl") ?? "openssl", "passwd", "-apr1", parts[1]], readsOutput: true)
        let hash = try await onThread {
            defer { _ = program.waitForEnd() }
            return program.output()
        }
        return parts[0] + ":" + hash.filter { !$0.isNewline }
    }

    private static func removeSharedMemory(of name: String) {
        for part in ["cf__metadata", "cf__queues", "cf__readers", "tls_session_cache"] {
            unlink("/dev/shm/\(name)-\(part).shm")
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
