extension LoopbackServer {
    /// The path of Apache httpd, or nil where it is not installed.
    package static var httpd: String? { installed("apache2") }

    /// Apache httpd, serving the directory's `root`, in one process: others would outlive the one that is killed.
    ///
    /// - Parameter configuration: Lines beside those that every httpd needs.
    package static func httpd(
        in directory: TemporaryDirectory, modules: [String] = [], _ configuration: String = ""
    ) async throws -> LoopbackServer {
        let port = try freePort()
        let loaded = (["mpm_event", "authz_core", "mime", "headers"] + modules)
            .map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }
        try directory.makeDirectory("root")
        try directory.write("", to: "types")
        let path = try directory.write(
            """
            \(loaded.joined(separator: "\n"))
            ServerRoot \(directory.path)
            ServerName 127.0.0.1
            Listen 127.0.0.1:\(port)
            PidFile \(directory.file("httpd.pid"))
            ErrorLog \(directory.file("error.log"))
            DefaultRuntimeDir \(directory.path)
            Mutex sem
            TypesConfig \(directory.file("types"))
            DocumentRoot \(directory.file("root"))
            <IfModule unixd_module>
            User www-data
            Group www-data
            </IfModule>
            \(configuration)

            """, to: "httpd.conf")
        return try await LoopbackServer(
            in: directory, port: port, log: "error.log", [httpd ?? "apache2", "-f", path, "-X"])
    }
}
