import Foundation
import Glibc

extension LoopbackServer {
    /// A program of the Python environment that the tests are run with, or nil; `make test` prepares it.
    package static func python(_ program: String) -> String? {
        let path = FileManager.default.currentDirectoryPath + "/.venv/bin/" + program
        return access(path, X_OK) == 0 ? path : nil
    }

    /// httpbin under gunicorn.
    package static func httpbin() async throws -> LoopbackServer {
        let port = try freePort()
        return try await LoopbackServer(
            in: try TemporaryDirectory(), port: port,
            [python("gunicorn") ?? "gunicorn", "--bind", "127.0.0.1:\(port)", "--threads", "8", "httpbin:app"])
    }
}
