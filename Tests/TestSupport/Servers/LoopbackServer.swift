import Glibc

/// A server program on a loopback port of its own, with a directory of its own; killed with the value that holds it.
package final class LoopbackServer: Sendable {
    package struct DoesNotListen: Error, CustomStringConvertible {
        package let description: String
    }

    package let port: UInt16
    package let directory: TemporaryDirectory
    private let program: Program
    private let afterwards: @Sendable () -> Void

    /// Starts a program and waits until its port can be connected to.
    ///
    /// - Parameters:
    ///   - directory: Where its files are; goes with the server.
    ///   - port: Where it listens, on 127.0.0.1 or on ::1.
    ///   - log: A file in the directory that tells why it did not start.
    ///   - endsWithProcess: Whether it is gone with this process, too, even a killed one.
    ///   - afterwards: Tidies up once it is gone.
    package init(
        in directory: TemporaryDirectory, port: UInt16, log: String? = nil, environment: [String: String]? = nil,
        endsWithProcess: Bool = false, _ command: [String], afterwards: @escaping @Sendable () -> Void = {}
    ) async throws {
        self.port = port
        self.directory = directory
        self.afterwards = afterwards
        // The end of its input, which is the end of this process, is the server's end.
        let watched = ["/bin/sh", "-c", #""$@" & cat >/dev/null; kill $!"#, "sh"] + command
        program = try Program(
            endsWithProcess ? watched : command, environment: environment, holdsInput: endsWithProcess)
        let program = program
        let listens = try await onThread { Self.waitForListener(port, of: program) }
        guard listens else {
            let reason = log.map { directory.text(of: $0) } ?? ""
            throw DoesNotListen(description: "\(command[0]) does not listen. \(reason.suffix(2000))")
        }
    }

    deinit {
        program.send(SIGKILL)
        _ = program.waitForEnd()
        afterwards()
    }

    /// The guard's rule that opens exactly this server.
    package var rule: String { "127.0.0.1:\(port)" }

    /// A port on 127.0.0.1 that was free a moment ago.
    ///
    /// None of those that the kernel gives to outgoing connections: one of them might have it before the server does.
    package static func freePort() throws -> UInt16 {
        for _ in 0..<100 {
            let port = UInt16.random(in: 20_000..<32_768)
            if canBind(port) { return port }
        }
        throw DoesNotListen(description: "no port is free")
    }

    private static func canBind(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = loopback(port)
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    /// The path of an installed program, or nil.
    package static func installed(_ name: String) -> String? {
        ["/usr/sbin/", "/usr/bin/", "/usr/lib/squid/", "/usr/local/bin/"].map { $0 + name }.first {
            access($0, X_OK) == 0
        }
    }

    /// Asks until somebody accepts, for 20 s: there is no other way to know.
    private static func waitForListener(_ port: UInt16, of program: Program) -> Bool {
        for _ in 0..<1000 {
            if accepts(loopback(port)) || accepts(loopback6(port)) { return true }
            if program.hasEnded { return false }
            poll(nil, 0, 20)
        }
        return false
    }

    private static func accepts<Address>(_ address: Address) -> Bool {
        let family = address is sockaddr_in6 ? AF_INET6 : AF_INET
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size)) == 0
            }
        }
    }

    private static func loopback6(_ port: UInt16) -> sockaddr_in6 {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_addr = in6addr_loopback
        address.sin6_port = port.bigEndian
        return address
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        return address
    }
}
