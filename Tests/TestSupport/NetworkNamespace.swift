import Foundation
import Glibc
import Synchronization

/// A network of its own, with loopback alone: a ``PacketSniffer`` sees all packets of the programs in it, and nobody
/// else.
///
/// Its loopback has the addresses of the machine's name servers and any others that a test wants to see dialled.
package final class NetworkNamespace: Sendable {
    package let name: String
    private static let ip = "/usr/sbin/ip"

    /// Whether this machine lets us make one; asked once.
    package static let isAllowed: Bool = {
        guard geteuid() == 0, access(ip, X_OK) == 0 else { return false }
        let name = "fetchd-probe-\(getpid())"
        guard (try? runIP(["netns", "add", name])) == 0 else { return false }
        return (try? runIP(["netns", "del", name])) == 0
    }()

    /// Makes the network.
    ///
    /// - Parameter addresses: Further addresses of its loopback.
    package init(addresses: [String] = []) throws {
        name = "fetchd-\(UUID().uuidString.prefix(8))"
        try Self.require(["netns", "add", name])
        try Self.require(["-n", name, "link", "set", "lo", "up"])
        for address in Set(addresses + Self.nameServers) where !address.hasPrefix("127.") { try add(address) }
    }

    /// Gives its loopback another address.
    package func add(_ address: String) throws {
        let prefix = address + (address.contains(":") ? "/128" : "/32")
        try Self.require(["-n", name, "addr", "add", prefix, "dev", "lo"])
    }

    deinit { _ = try? Self.runIP(["netns", "del", name]) }

    /// Runs blocking work on a thread that is in this network; sockets, threads and programs that it makes are there
    /// too.
    ///
    /// That thread wakes no task: one of the pool that is made for it would be in the network as well.
    package func inside<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await onThread { [self] in
            let (result, ended) = (Outcome<Value>(), DispatchSemaphore(value: 0))
            startThread { [self] in
                result.value.withLock {
                    $0 = Result {
                        try enter()
                        return try body()
                    }
                }
                ended.signal()
            }
            ended.wait()
            guard let value = result.value.withLock({ $0 }) else { throw WireConnection.Failure(number: ECANCELED) }
            return try value.get()
        }
    }

    private final class Outcome<Value: Sendable>: Sendable {
        let value = Mutex<Result<Value, any Error>?>(nil)
    }

    /// Where the machine's resolver asks.
    private static var nameServers: [String] {
        let text = (try? String(contentsOfFile: "/etc/resolv.conf", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            return words.count == 2 && words[0] == "nameserver" ? String(words[1]) : nil
        }
    }

    /// Moves the calling thread, which is to end soon, into this network.
    func enter() throws {
        let descriptor = open("/run/netns/\(name)", O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        guard descriptor >= 0, let setns = Self.setns, setns(descriptor, 0) == 0 else {
            throw WireConnection.Failure(number: errno)
        }
    }

    private typealias SetNamespace = @convention(c) (Int32, Int32) -> Int32
    /// The call that Swift's Glibc leaves out.
    private static let setns = dlsym(nil, "setns").map { unsafeBitCast($0, to: SetNamespace.self) }

    private static func require(_ arguments: [String]) throws {
        guard try runIP(arguments) == 0 else { throw Program.Failed(description: "ip \(arguments)") }
    }

    private static func runIP(_ arguments: [String]) throws -> Int32 {
        try Program([ip] + arguments).waitForEnd()
    }
}

/// Sees every packet of a ``NetworkNamespace``.
package final class PacketSniffer: Sendable {
    private static let packetFamily: Int32 = 17
    private static let everyProtocol = UInt16(3).bigEndian
    private static let receiveBufferForce: Int32 = 33

    private let descriptor: Int32
    private let seen = Mutex<Set<String>>([])

    /// Begins to look; to be called inside the network.
    package init() throws {
        descriptor = socket(
            Self.packetFamily, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), Int32(Self.everyProtocol))
        guard descriptor >= 0 else { throw WireConnection.Failure(number: errno) }
        var room: Int32 = 64 * 1024 * 1024
        setsockopt(descriptor, SOL_SOCKET, Self.receiveBufferForce, &room, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(descriptor) }

    /// Where connections were begun and datagrams sent so far, such as `tcp 127.0.0.1:80` and `udp [::1]:53`.
    package var destinations: Set<String> {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        return seen.withLock { seen in
            while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 {
                if let destination = Self.destination(buffer.prefix(count)) { seen.insert(destination) }
            }
            return seen
        }
    }

    private static func destination(_ packet: ArraySlice<UInt8>) -> String? {
        let isIPv6 = packet[0] >> 4 == 6
        let header = isIPv6 ? 40 : Int(packet[0] & 15) * 4
        guard packet.count >= header + 8 else { return nil }
        let port = Int(packet[header + 2]) << 8 | Int(packet[header + 3])
        let host: String
        if isIPv6 {
            let words = stride(from: 24, to: 40, by: 2).map { index in
                String(Int(packet[index]) << 8 | Int(packet[index + 1]), radix: 16)
            }
            host = "[\(words.joined(separator: ":"))]"
        } else {
            host = packet[16..<20].map { "\($0)" }.joined(separator: ".")
        }
        switch packet[isIPv6 ? 6 : 9] {
        // The first segment of a connection has SYN and not ACK.
        case 6 where packet.count >= header + 14 && packet[header + 13] & 0x12 == 0x02: return "tcp \(host):\(port)"
        case 17: return "udp \(host):\(port)"
        default: return nil
        }
    }
}
