import Foundation
import Glibc

/// The user who may enter the places that the servers here protect.
package enum Cave {
    package static let user = "aladdin"
    package static let password = "open sesame"
    package static let realm = "cave"
    /// The content of every page.
    package static let treasure = "treasure\n"
}

extension LoopbackServer {
    package func url(_ path: String, host: String = "127.0.0.1") -> String { "http://\(host):\(port)\(path)" }

    /// Whether a server was installed, module of httpd included.
    package static func hasApache(modules: String...) -> Bool {
        installed("apache2") != nil && modules.allSatisfy { access(modulePath($0), R_OK) == 0 }
    }

    private static func modulePath(_ name: String) -> String { "/usr/lib/apache2/modules/mod_\(name).so" }

    /// Apache httpd with the directories `/basic/`, `/digest/` and `/kerberos/`, each kept by that scheme, and
    /// `/both/`, kept by Basic and Digest of two realms.
    ///
    /// Each has a `page`, and takes files by PUT. `access.log` has method, path, status and user of each request.
    ///
    /// - Parameter kerberosDirectives: Further lines for `/kerberos/`.
    package static func apache(
        realm: KerberosRealm? = nil, kerberosDirectives: [String] = []
    ) async throws -> LoopbackServer {
        let directory = try TemporaryDirectory()
        let port = try freePort()
        for area in ["open", "basic", "digest", "kerberos", "both"] {
            try directory.write(Cave.treasure, to: "www/\(area)/page")
            try directory.makeDirectory("www/\(area)", mode: 0o777)
        }
        try directory.makeDirectory("run", mode: 0o777)
        // {SHA} and the MD5 of HTTP Digest, which httpd reads without a further program.
        try directory.write("\(Cave.user):{SHA}W8r/fyL/UzygmbNAjq2HbA67qac=\n", to: "basic.users")
        try directory.write("\(Cave.user):\(Cave.realm):28ae686f92601fee521eb925b17ebadc\n", to: "digest.users")
        if let realm { try directory.write(realm.serviceKeys, to: "http.keytab") }
        try directory.write(
            apacheConfiguration(directory.path, port, realm.map { _ in kerberosDirectives }), to: "httpd.conf")
        return try await LoopbackServer(
            in: directory, port: port, log: "error.log", environment: realm?.environment,
            [installed("apache2") ?? "apache2", "-X", "-f", directory.file("httpd.conf")])
    }

    /// - Parameter kerberosDirectives: Nil without a realm.
    private static func apacheConfiguration(
        _ path: String, _ port: UInt16, _ kerberosDirectives: [String]?
    ) -> String {
        var modules = [
            "mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "auth_digest", "dav",
            "dav_fs", "dav_lock",
        ]
        if kerberosDirectives != nil { modules.append("auth_gssapi") }
        let kerberos = """
            <Location /kerberos>
                AuthType GSSAPI
                AuthName "\(Cave.realm)"
                GssapiCredStore keytab:\(path)/http.keytab
                GssapiAllowedMech krb5
                \(kerberosDirectives?.joined(separator: "\n") ?? "")
                Require valid-user
            </Location>
            """
        return """
            \(modules.map { "LoadModule \($0)_module \(modulePath($0))" }.joined(separator: "\n"))
            ServerRoot "\(path)"
            DefaultRuntimeDir "\(path)/run"
            PidFile "\(path)/run/pid"
            Listen 127.0.0.1:\(port)
            ServerName localhost
            User www-data
            Group www-data
            ErrorLog "\(path)/error.log"
            CustomLog "\(path)/access.log" "%m %U %>s %u"
            StartServers 1
            ServerLimit 1
            ThreadsPerChild 8
            MaxRequestWorkers 8
            DocumentRoot "\(path)/www"
            DAVLockDB "\(path)/run/dav"
            <Directory "\(path)/www">
                Dav On
            </Directory>
            <Location /basic>
                AuthType Basic
                AuthName "\(Cave.realm)"
                AuthUserFile "\(path)/basic.users"
                Require valid-user
            </Location>
            <Location /digest>
                AuthType Digest
                AuthName "\(Cave.realm)"
                AuthUserFile "\(path)/digest.users"
                AuthDigestDomain /digest/
                Require valid-user
            </Location>
            \(kerberosDirectives == nil ? "" : kerberos)

            """
    }

    /// The lines of the access log of httpd or nginx, once it has written so many.
    ///
    /// It writes them after its answers, and nobody tells when.
    package func accessLog(_ count: Int) async throws -> [String] {
        var lines: [Substring] = []
        for _ in 0..<500 where lines.count < count {
            lines = directory.text(of: "access.log").split(separator: "\n")
            if lines.count < count { try await onThread { _ = poll(nil, 0, 10) } }
        }
        return lines.map(String.init)
    }

    /// nginx with the directory `/basic/`, and `/silent/` that answers 401 without asking.
    package static func nginxCave() async throws -> LoopbackServer {
        let directory = try TemporaryDirectory()
        let port = try freePort()
        try directory.write(Cave.treasure, to: "www/basic/page")
        try directory.write("\(Cave.user):{PLAIN}\(Cave.password)\n", to: "users")
        try directory.makeDirectory("tmp", mode: 0o777)
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(directory.path)/tmp;" }.joined(separator: " ")
        try directory.write(
            """
            daemon off; master_process off; pid nginx.pid; error_log error.log;
            events { worker_connections 64; }
            http {
                access_log access.log; default_type text/plain; \(temporary)
                server {
                    listen 127.0.0.1:\(port); root \(directory.path)/www;
                    location /basic { auth_basic "\(Cave.realm)"; auth_basic_user_file \(directory.path)/users; }
                    location /silent { return 401 "no"; }
                }
            }
            """, to: "nginx.conf")
        return try await LoopbackServer(
            in: directory, port: port, log: "error.log",
            [installed("nginx") ?? "nginx", "-p", directory.path, "-c", "nginx.conf", "-e", "error.log"])
    }

    // MARK: In Python

    /// A server that asks for NTLM and leaves the judgement to pyspnego.
    ///
    /// It answers who came, on which connection, and the length of the content. `log` has one line per request: the
    /// connection, the length of the content and the status.
    package static func ntlm() async throws -> LoopbackServer {
        let directory = try TemporaryDirectory()
        let port = try freePort()
        try directory.write("CAVE:\(Cave.user):\(Cave.password)\nCAVE:jafar:sim sala bim\n", to: "users")
        let script = try directory.write(ntlmScript, to: "server.py")
        return try await LoopbackServer(
            in: directory, port: port, log: "errors", environment: ["NTLM_USER_FILE": directory.file("users")],
            [python("python") ?? "python3", script, "\(port)", directory.file("log"), directory.file("errors")])
    }

    private static let ntlmScript = """
        import base64, http.server, itertools, socketserver, sys
        sys.stderr = open(sys.argv[3], "w", buffering=1)
        import spnego

        log = open(sys.argv[2], "w", buffering=1)
        numbers = itertools.count(1)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                self.number, self.context, self.user = None, None, None

            def content(self):
                if self.headers.get("Transfer-Encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length", 0)))
                content = b""
                while size := int(self.rfile.readline(), 16):
                    content += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return content

            def do_GET(self):
                self.number = self.number or next(numbers)
                content = self.content()
                field = self.headers.get("Authorization", "")
                if not self.user and field.startswith("NTLM "):
                    offer = self.step(base64.b64decode(field[5:]))
                else:
                    offer = "NTLM"
                if self.user:
                    self.answer(content, 200, f"{self.user} {self.number} {len(content)}")
                else:
                    self.answer(content, 401, "who are you?", offer)

            def step(self, token):
                self.context = self.context or spnego.server(protocol="ntlm")
                try:
                    reply = self.context.step(token)
                except spnego.exceptions.SpnegoError:
                    self.context = None
                    return "NTLM"
                if self.context.complete:
                    self.user = self.context.client_principal
                    return None
                return "NTLM " + base64.b64encode(reply).decode()

            def answer(self, content, status, text, offer=None):
                log.write(f"{self.number} {len(content)} {status}\\n")
                self.send_response(status)
                if offer:
                    self.send_header("WWW-Authenticate", offer)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            do_POST = do_PUT = do_GET

        socketserver.ThreadingTCPServer.allow_reuse_address = True
        socketserver.ThreadingTCPServer.daemon_threads = True
        socketserver.ThreadingTCPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
        """
}
