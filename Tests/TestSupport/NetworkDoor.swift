import Glibc

/// Takes connections outside a ``NetworkNamespace`` and carries their bytes to a port inside.
///
/// A loop of ours inside would wake tasks from there, and threads of the pool that are made then would be inside as
/// well.
package final class NetworkDoor: Sendable {
    /// Where it listens, on 127.0.0.1.
    package let port: UInt16
    private let listener: Int32

    package init(into network: NetworkNamespace, to port: UInt16) throws {
        let (listener, own) = try WireOrigin.bound()
        self.listener = listener
        self.port = own
        guard listen(listener, 1024) == 0 else { throw WireConnection.Failure(number: errno) }
        startThread {
            while case let outer = accept(listener, nil, nil), outer >= 0 {
                startThread { Self.carry(outer, into: network, to: port) }
            }
            close(listener)
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// The life of a connection, on a thread of its own.
    private static func carry(_ outer: Int32, into network: NetworkNamespace, to port: UInt16) {
        defer { close(outer) }
        guard (try? network.enter()) != nil else { return }
        let inner = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(inner) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = withUnsafeBytes(of: &address) { bytes in
            connect(
                inner, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_in>.size))
        }
        guard status == 0 else { return }
        var ends = [outer, inner].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while poll(&ends, 2, -1) > 0 {
            for (from, to) in [(0, 1), (1, 0)] where ends[from].revents != 0 {
                guard move(ends[from].fd, ends[to].fd) else { return }
            }
        }
    }

    /// False at the end of either.
    private static func move(_ from: Int32, _ to: Int32) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(from, &buffer, buffer.count, 0)
        var sent = 0
        while sent < count {
            let more = buffer[sent..<count].withUnsafeBytes { bytes in
                send(to, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            }
            guard more > 0 else { return false }
            sent += more
        }
        return count > 0
    }
}
