import Foundation

extension LoopbackServer {
    /// A collector that takes no trace but by the letter; `Tests/Collector/collector.py` says how it is asked.
    package static func traceCollector() async throws -> LoopbackServer {
        let script = FileManager.default.currentDirectoryPath + "/Tests/Collector/collector.py"
        let port = try freePort()
        let directory = try TemporaryDirectory()
        return try await LoopbackServer(
            in: directory, port: port, log: "log",
            [
                "/bin/sh", "-c", #"cd "$0" && exec "$@" 2>log"#, directory.path, python("python") ?? "python3", script,
                "\(port)",
            ])
    }
}
