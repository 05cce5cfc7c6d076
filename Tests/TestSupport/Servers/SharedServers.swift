import Foundation
import Glibc

/// Servers that all tests of the process share, as they keep the data of one test apart from those of others.
///
/// Each is started when it is first asked for, which takes a second, and goes with the process.
private actor SharedServers {
    static let shared = SharedServers()

    private var servers: [String: LoopbackServer] = [:]

    /// - Parameter command: The program of the tests' Python environment, and its arguments, given a port.
    func server(_ name: String, _ command: (UInt16) -> [String]) async throws -> LoopbackServer {
        if let server = servers[name] { return server }
        let port = try LoopbackServer.freePort()
        let server = try await LoopbackServer(
            in: try TemporaryDirectory(), port: port, endsWithProcess: true, command(port))
        // Another test may have asked meanwhile.
        if let other = servers[name] { return other }
        servers[name] = server
        return server
    }
}

extension LoopbackServer {
    /// A program of the Python environment that the tests are run with, or nil; `make test` prepares it.
    package static func python(_ program: String) -> String? {
        let path = FileManager.default.currentDirectoryPath + "/.venv/bin/" + program
        return access(path, X_OK) == 0 ? path : nil
    }

    /// httpbin under gunicorn, which keeps nothing.
    package static func httpbin() async throws -> LoopbackServer {
        try await SharedServers.shared.server("httpbin") { port in
            [python("gunicorn") ?? "gunicorn", "--bind", "127.0.0.1:\(port)", "--threads", "8", "httpbin:app"]
        }
    }

    /// moto's S3, which keeps objects in memory and believes every key; each test makes a bucket of its own.
    package static func s3() async throws -> LoopbackServer {
        try await SharedServers.shared.server("s3") { port in
            [python("python") ?? "python3", "-m", "moto.server", "-H", "127.0.0.1", "-p", "\(port)"]
        }
    }
}
