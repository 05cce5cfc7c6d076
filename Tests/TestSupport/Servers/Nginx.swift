package import Foundation

extension LoopbackServer {
    /// The path of nginx, or nil where it is not installed.
    package static var nginx: String? { installed("nginx") }

    /// nginx, serving the directory's `root`.
    ///
    /// - Parameters:
    ///   - configuration: Lines of its `server` block.
    ///   - global: Lines of its `http` block.
    package static func nginx(
        in directory: TemporaryDirectory, _ configuration: String = "", global: String = ""
    ) async throws -> LoopbackServer {
        let port = try freePort()
        try directory.makeDirectory("root")
        let path = try directory.write(
            """
            daemon off; master_process off; pid nginx.pid; error_log error.log;
            events { worker_connections 64; }
            http {
                access_log access.log; default_type application/octet-stream;
                client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp;
                scgi_temp_path tmp; \(global)
                server { listen 127.0.0.1:\(port); root \(directory.file("root")); \(configuration) }
            }

            """, to: "nginx.conf")
        return try await LoopbackServer(
            in: directory, port: port, log: "error.log", [nginx ?? "nginx", "-p", directory.path, "-c", path])
    }

    /// nginx, serving files as plain text by their names.
    package static func nginx(files: [String: Data]) async throws -> LoopbackServer {
        let directory = try TemporaryDirectory()
        for (name, content) in files { try directory.write(Array(content), to: "root/\(name)") }
        return try await nginx(in: directory, "default_type text/plain;")
    }
}
