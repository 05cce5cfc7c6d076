import FetchEngine
import Foundation
import Glibc

extension LoopbackServer {
    /// nginx with TLS: `/` answers with the client's certificate as nginx judges it and the connection's number.
    ///
    /// - Parameters:
    ///   - leaf: Its certificate.
    ///   - chain: The certificates that it sends behind its own, as PEM.
    ///   - directives: Further lines of its `server` block.
    package static func nginxTLS(
        _ leaf: TestAuthority.Leaf, chain: [UInt8] = [], directives: [String] = []
    ) async throws -> LoopbackServer {
        let (directory, port) = (try TemporaryDirectory(), try freePort())
        try directory.write(leaf.certificate + chain, to: "chain.pem")
        try directory.write(leaf.key, to: "server.key")
        let configuration = """
            daemon off; master_process off; pid \(directory.file("pid")); error_log \(directory.file("error.log"));
            events { worker_connections 64; }
            http {
                log_format short '$remote_addr $connection $ssl_client_verify $request $status $ssl_protocol';
                access_log \(directory.file("access.log")) short;
                client_body_temp_path \(directory.file("t")); proxy_temp_path \(directory.file("t"));
                fastcgi_temp_path \(directory.file("t")); uwsgi_temp_path \(directory.file("t"));
                scgi_temp_path \(directory.file("t"));
                server {
                    listen 127.0.0.1:\(port) ssl http2;
                    ssl_certificate \(directory.file("chain.pem")); ssl_certificate_key \(directory.file("server.key"));
                    \(directives.map { $0.hasSuffix("}") ? $0 : $0 + ";" }.joined(separator: " "))
                    location / { return 200 "$ssl_client_verify $ssl_client_s_dn $connection"; }
                }
            }
            """
        try directory.write(configuration, to: "nginx.conf")
        return try await LoopbackServer(
            in: directory, port: port, log: "error.log",
            [installed("nginx") ?? "nginx", "-p", directory.path, "-c", directory.file("nginx.conf")])
    }

    /// The lines that nginx with TLS has logged of requests that came by TLS.
    ///
    /// It writes a line after its response, and tells nobody when: one without TLS, which it refuses, comes last.
    package func requestsByTLS() async throws -> [String] {
        let path = "/\(UUID())"
        let request = Request(url: try URLRecord("http://127.0.0.1:\(port)\(path)"))
        _ = try await Session(configuration: SessionConfiguration()).data(for: request)
        try await until { directory.text(of: "access.log").contains(" GET \(path) ") }
        return directory.text(of: "access.log").split(separator: "\n").map(String.init).filter { $0.contains(" TLSv") }
    }
}
