import FetchEngine
import Foundation
import Glibc
import TestSupport
import Testing

/// A server program on a loopback port of its own, for one test suite.
final class Origin: Sendable {
    let port: UInt16
    private let process: Program
    private let directory: URL

    private init(_ directory: URL, port: UInt16, _ command: [String]) throws {
        self.directory = directory
        self.port = port
        process = try Program(command)
    }

    deinit {
        process.send(SIGKILL)
        _ = process.waitForEnd()
        try? FileManager.default.removeItem(at: directory)
    }

    /// The guard's rule that opens exactly this origin.
    var rule: String { "127.0.0.1:\(port)" }

    func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    /// nginx, serving `files` by their names.
    static func nginx(files: [String: Data]) async throws -> Origin {
        let directory = try makeDirectory()
        for (name, content) in files { try content.write(to: directory.appending(path: name)) }
        let port = try freePort()
        let configuration = """
            daemon off; master_process off; pid nginx.pid; error_log error.log;
            events { worker_connections 256; }
            http {
                access_log off; default_type text/plain;
                client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp;
                scgi_temp_path tmp;
                server { listen 127.0.0.1:\(port); root \(directory.path); location /slow { alias \(directory.path)/slow; limit_rate 10k; } }
            }
            """
        try configuration.write(to: directory.appending(path: "nginx.conf"), atomically: true, encoding: .utf8)
        let origin = try Origin(directory, port: port, ["/usr/sbin/nginx", "-p", directory.path, "-c", "nginx.conf"])
        try await origin.waitUntilItListens()
        return origin
    }

    /// httpbin under gunicorn, from the Python environment that `make test` prepares.
    static func httpbin() async throws -> Origin {
        let gunicorn = FileManager.default.currentDirectoryPath + "/.venv/bin/gunicorn"
        try #require(FileManager.default.isExecutableFile(atPath: gunicorn), "run the tests with: make test")
        let port = try freePort()
        let command = [gunicorn, "--bind", "127.0.0.1:\(port)", "--threads", "8", "httpbin:app"]
        let origin = try Origin(try makeDirectory(), port: port, command)
        try await origin.waitUntilItListens()
        return origin
    }

    /// moto's S3, from the same environment; it keeps objects in memory and believes every key.
    static func s3() async throws -> Origin {
        let python = FileManager.default.currentDirectoryPath + "/.venv/bin/python"
        let port = try freePort()
        let command = [python, "-m", "moto.server", "-H", "127.0.0.1", "-p", "\(port)"]
        let origin = try Origin(try makeDirectory(), port: port, command)
        try await origin.waitUntilItListens()
        return origin
    }

    private func waitUntilItListens() async throws {
        let session = Session()
        let request = Request(url: try URLRecord(url("/")))
        // Asking is the only way to know when it is there.
        try await until { (try? await session.data(for: request)) != nil }
    }

    private static func makeDirectory() throws -> URL {
        let directory = FileManager.default.temporaryDirectory.appending(path: "origin-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        return directory
    }

    /// A port that was free a moment ago.
    static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) == 0 && getsockname(descriptor, pointer, &length) == 0
            }
        }
        try #require(status)
        return UInt16(bigEndian: address.sin_port)
    }
}
