/// The servers that answers with validators, `Vary` and `Age` come from.
extension LoopbackServer {
    /// nginx, with files whose answers say how long they are fresh.
    ///
    /// `/fresh/` is for an hour, `/validate/` is to be confirmed each time, `/plain/` says nothing, and `/vary/` is
    /// compressed for those who can have it. Each request is a line of ``nginxRequests``.
    package static func cachingNginx(files: [String: String]) async throws -> LoopbackServer {
        let directory = try TemporaryDirectory()
        for (name, content) in files {
            for place in ["fresh", "validate", "plain", "vary"] {
                try directory.write(content, to: "files/\(place)/\(name)")
            }
        }
        try directory.makeDirectory("tmp")
        let port = try freePort()
        try directory.write(
            """
            daemon off; master_process off; pid nginx.pid; error_log error.log;
            events { worker_connections 64; }
            http {
                log_format short "$request_method $uri $status $http_if_none_match";
                access_log access.log short; default_type text/plain;
                client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp;
                scgi_temp_path tmp;
                server {
                    listen 127.0.0.1:\(port); root \(directory.file("files"));
                    location /fresh/ { expires 1h; }
                    location /validate/ { expires -1; }
                    location /plain/ {}
                    location /vary/ {
                        expires 1h; gzip on; gzip_vary on; gzip_types text/plain; gzip_min_length 1;
                    }
                }
            }
            """, to: "nginx.conf")
        return try await LoopbackServer(
            in: directory, port: port, log: "error.log",
            ["/usr/sbin/nginx", "-p", directory.path, "-c", directory.file("nginx.conf")])
    }

    /// Method, path, status and `If-None-Match` of each request that nginx has answered and forgotten.
    package var nginxRequests: [String] {
        directory.text(of: "access.log").split(separator: "\n").map(String.init)
    }

    /// Varnish in front of another origin; a request with `no-cache` goes past its stored responses.
    package static func varnish(inFrontOf port: UInt16) async throws -> LoopbackServer {
        let directory = try TemporaryDirectory()
        let own = try freePort()
        try directory.write(
            """
            vcl 4.1;
            backend default { .host = "127.0.0.1"; .port = "\(port)"; }
            sub vcl_recv { if (req.http.Cache-Control ~ "no-cache") { set req.hash_always_miss = true; } }
            sub vcl_deliver { set resp.http.Seen = req.http.Cache-Control; }
            """, to: "default.vcl")
        return try await LoopbackServer(
            in: directory, port: own,
            [
                "/usr/sbin/varnishd", "-F", "-j", "none", "-a", "127.0.0.1:\(own)", "-T", "none",
                "-f", directory.file("default.vcl"), "-n", directory.file("varnish"), "-s", "malloc,16m",
            ])
    }
}
