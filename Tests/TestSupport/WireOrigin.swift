import Foundation
import Glibc
import Synchronization

/// A server on loopback that plays exact bytes and keeps the exact bytes it received.
///
/// Each connection is served by a closure on a thread of its own, in blocking steps:
///
///     let origin = try WireOrigin { connection in
///         try connection.receiveHead()
///         try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
///     }
///
/// The connection is closed when the closure returns or throws. Every blocking step ends after ten seconds.
package final class WireOrigin: Sendable {
    private struct State {
        var connections: [WireConnection] = []
    }

    /// The port it listens on, on 127.0.0.1.
    package let port: UInt16
    private let listener: Int32
    private let serve: @Sendable (WireConnection) throws -> Void
    private let state = Mutex(State())

    /// Takes a port and starts to listen.
    ///
    /// - Parameters:
    ///   - isOpen: False leaves connections refused until ``open()``.
    ///   - anywhere: Whether it listens at every address of this machine.
    package init(
        isOpen: Bool = true, anywhere: Bool = false, _ serve: @escaping @Sendable (WireConnection) throws -> Void
    ) throws {
        self.serve = serve
        (listener, port) = try Self.bound(anywhere)
        if isOpen { try open() }
    }

    /// Starts to listen.
    package func open() throws {
        let listener = listener
        guard listen(listener, 1024) == 0 else { throw WireConnection.Failure(number: errno) }
        startThread { [weak self] in
            while case let descriptor = accept(listener, nil, nil), descriptor >= 0 {
                if let origin = self { origin.accepted(descriptor) } else { close(descriptor) }
            }
            // Here and not in deinit: its number could go to another test while this thread still accepts on it.
            close(listener)
        }
    }

    /// An origin that answers each request head, on any number of connections, with the same bytes.
    package convenience init(playing answer: String) throws {
        try self.init { connection in
            while try connection.receiveHead() != nil { try connection.send(answer) }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        for connection in state.withLock({ $0.connections }) { connection.abandon() }
    }

    /// The URL of a path here.
    package func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    /// The connections so far, in the order they were made.
    package var connections: [WireConnection] { state.withLock { $0.connections } }

    /// Everything received on one connection, as text.
    package func received(on index: Int = 0) -> String {
        let all = connections
        return index < all.count ? String(decoding: all[index].received, as: UTF8.self) : ""
    }

    /// How often a text was received, on all connections.
    package func count(of text: String) -> Int {
        connections.indices.reduce(0) { $0 + received(on: $1).components(separatedBy: text).count - 1 }
    }

    /// Waits until that many connections have been made and served to their ends, with a bound.
    package func ended(_ count: Int = 1) async throws {
        try await until { connections.count(where: \.isOver) >= count }
    }

    private func accepted(_ descriptor: Int32) {
        let connection = WireConnection(descriptor)
        state.withLock { $0.connections.append(connection) }
        let serve = serve
        startThread {
            // A closure that throws has met the end of its connection, which is how many tests end.
            try? serve(connection)
            connection.finish()
        }
    }

    static func bound(_ anywhere: Bool = false) throws -> (Int32, UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(anywhere ? 0 : 0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) | getsockname(descriptor, address, &size)
            }
        }
        guard descriptor >= 0, status == 0 else { throw WireConnection.Failure(number: errno) }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }
}

/// Runs an action on a thread of its own.
func startThread(_ action: @escaping @Sendable () -> Void) {
    final class Box: Sendable {
        let action: @Sendable () -> Void
        init(_ action: @escaping @Sendable () -> Void) { self.action = action }
    }
    var thread = pthread_t()
    pthread_create(
        &thread, nil,
        { context in
            Unmanaged<Box>.fromOpaque(context!).takeRetainedValue().action()
            return nil
        }, Unmanaged.passRetained(Box(action)).toOpaque())
    pthread_detach(thread)
}
