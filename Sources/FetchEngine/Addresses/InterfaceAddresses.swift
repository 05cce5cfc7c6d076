import EventLoop
import Glibc
import Synchronization

/// The addresses of this machine's interfaces, as they were a moment ago.
///
/// A server that listens at all addresses of a machine can be reached by each of them as by loopback, so all of them
/// are as sensitive.
final class InterfaceAddresses: Sendable {
    static let current = InterfaceAddresses(lifetime: .seconds(5))

    private struct Reading {
        var addresses: Set<IPAddress> = []
        var expiry = MonotonicTime(nanoseconds: 0)
    }

    private let lifetime: Duration
    private let reading = Mutex(Reading())

    /// - Parameter lifetime: How long they are taken to be the same.
    init(lifetime: Duration) { self.lifetime = lifetime }

    func contains(_ address: IPAddress) -> Bool {
        reading.withLock { reading in
            let now = MonotonicTime.now
            if reading.expiry <= now {
                reading = Reading(addresses: Self.read() ?? reading.addresses, expiry: now.advanced(by: lifetime))
            }
            return reading.addresses.contains(address)
        }
    }

    /// Nil when the system does not tell.
    private static func read() -> Set<IPAddress>? {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return nil }
        defer { freeifaddrs(first) }
        var addresses: Set<IPAddress> = []
        var next = first
        while let interface = next?.pointee {
            if let pointer = interface.ifa_addr, let address = IPAddress(sockaddr: pointer) {
                addresses.insert(address)
            }
            next = interface.ifa_next
        }
        return addresses
    }
}
