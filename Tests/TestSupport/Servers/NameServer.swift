import Glibc
import Synchronization

/// A name server that answers for every name as a test likes: addresses, and the places of its services.
package final class NameServer: Sendable {
    private let descriptor: Int32
    private let addresses: Mutex<[[UInt8]]>
    private let names = Mutex<[String]>([])
    private let isSilent = Mutex(false)
    private let service: (host: String, port: UInt16)

    /// Listens at port 53 of all addresses; to be called inside a ``NetworkNamespace``.
    ///
    /// - Parameters:
    ///   - addresses: IPv4 addresses of every name.
    ///   - service: The target of every SRV record.
    package init(addresses: [[UInt8]], service: (host: String, port: UInt16) = ("kdc.evil.example", 11_211)) throws {
        self.addresses = Mutex(addresses)
        self.service = service
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(53).bigEndian
        let status = withUnsafeBytes(of: &address) { bytes in
            bind(
                descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_in>.size))
        }
        guard status == 0 else { throw WireConnection.Failure(number: errno) }
        var patience = timeval(tv_sec: 0, tv_usec: 200_000)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        startThread { [weak self, descriptor] in
            while self != nil { Self.serveOne(descriptor) { self?.answer(to: $0) } }
            close(descriptor)
        }
    }

    /// Which names were asked for.
    package var asked: [String] { names.withLock { $0 } }

    /// Changes the addresses of its replies from now on.
    package func say(_ addresses: [[UInt8]]) { self.addresses.withLock { $0 = addresses } }

    /// Answers no question any more.
    package func fallSilent() { isSilent.withLock { $0 = true } }

    private static func serveOne(_ descriptor: Int32, _ answer: ([UInt8]) -> [UInt8]?) {
        var query = [UInt8](repeating: 0, count: 1500)
        var peer = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutableBytes(of: &peer) { peer in
            let address = peer.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            let count = recvfrom(descriptor, &query, query.count, 0, address, &size)
            guard count > 12, let reply = answer(Array(query.prefix(count))) else { return }
            sendto(descriptor, reply, reply.count, 0, address, size)
        }
    }

    /// RFC 1035 §4.
    private func answer(to query: [UInt8]) -> [UInt8]? {
        guard !isSilent.withLock({ $0 }) else { return nil }
        var (end, labels) = (12, [String]())
        while end < query.count, query[end] != 0 {
            labels.append(String(decoding: query[(end + 1)...].prefix(Int(query[end])), as: UTF8.self))
            end += Int(query[end]) + 1
        }
        end += 5
        guard end <= query.count else { return query }
        names.withLock { $0.append(labels.joined(separator: ".").lowercased()) }
        let records: [[UInt8]] =
            switch query[end - 3] {
            case 1: addresses.withLock { $0 }.map { Self.record(1, $0) }
            case 33: [Self.record(33, location)]
            default: []
            }
        var reply: [UInt8] = [query[0], query[1], 0x84, 0x00, 0, 1, 0, UInt8(records.count), 0, 0, 0, 0]
        reply += query[12..<end]
        for record in records { reply += record }
        return reply
    }

    private static func record(_ type: UInt8, _ data: [UInt8]) -> [UInt8] {
        let head: [UInt8] = [0xC0, 12, 0, type, 0, 1, 0, 0, 0, 1, 0, UInt8(data.count)]
        return head + data
    }

    /// Where a service is (RFC 2782): priority, weight, port and host.
    private var location: [UInt8] {
        var data: [UInt8] = [0, 0, 0, 0, UInt8(service.port >> 8), UInt8(service.port & 255)]
        for label in service.host.split(separator: ".") {
            data.append(UInt8(label.utf8.count))
            data += label.utf8
        }
        return data + [0]
    }
}
