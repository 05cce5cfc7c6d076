import Glibc

/// OpenSSL's own server on loopback, with a certificate made for it: a real peer for TLS.
///
/// It answers `GET /` with a page. The certificate is for `localhost` and signed by itself.
package final class TLSOrigin: Sendable {
    package struct Failure: Error {
        let step: String
    }

    /// The port it listens on, on 127.0.0.1.
    package let port: UInt16
    /// The certificate as PEM.
    package let certificate: [UInt8]
    private let process: pid_t

    /// Makes a certificate and starts the server.
    ///
    /// - Parameters:
    ///   - days: How long the certificate is valid; negative for one that has expired.
    ///   - port: Where it listens; 0 for any that is free.
    ///   - options: Further options of `openssl s_server`, such as `-tls1_2`.
    package init(days: Int = 2, port: UInt16 = 0, options: [String] = []) throws {
        let (key, file) = (try TemporaryFile([]), try TemporaryFile([]))
        let maker = try Self.spawn([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "\(days)",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key.path, "-out", file.path,
        ])
        _ = Self.readLine(maker.output) { _ in false }
        waitpid(maker.process, nil, 0)
        certificate = try Self.contents(of: file.path)
        let server = try Self.spawn(
            ["s_server", "-accept", "127.0.0.1:\(port)", "-www", "-key", key.path, "-cert", file.path] + options)
        process = server.process
        // "ACCEPT 127.0.0.1:41234" comes once it listens, and "ACCEPT" alone where the port was given.
        let line = Self.readLine(server.output) { $0.hasPrefix("ACCEPT") }
        guard let line, let port = port > 0 ? port : line.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            kill(process, SIGKILL)
            waitpid(process, nil, 0)
            throw Failure(step: "s_server")
        }
        self.port = port
    }

    deinit {
        kill(process, SIGKILL)
        waitpid(process, nil, 0)
    }

    private static func spawn(_ arguments: [String]) throws -> (process: pid_t, output: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure(step: "pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[1]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        // s_server ends with its standard input, so it gets one that never ends.
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/zero", O_RDONLY, 0)
        var vector = (["openssl"] + arguments).map { strdup($0) } + [nil]
        defer { vector.forEach { free($0) } }
        var process: pid_t = 0
        guard posix_spawnp(&process, "openssl", &actions, nil, &vector, environ) == 0 else {
            close(ends[0])
            throw Failure(step: "openssl")
        }
        return (process, ends[0])
    }

    /// Reads lines up to one that fits, or to the end; closes the descriptor.
    private static func readLine(_ descriptor: Int32, _ fits: (String) -> Bool) -> String? {
        guard let file = fdopen(descriptor, "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, 512, file) != nil {
            let text = String(
                decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if fits(text) { return text }
        }
        return nil
    }

    private static func contents(of path: String) throws -> [UInt8] {
        guard let file = fopen(path, "r") else { throw Failure(step: "certificate") }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = fread(&bytes, 1, bytes.count, file)
        guard count > 0 else { throw Failure(step: "certificate") }
        return Array(bytes[..<count])
    }
}
