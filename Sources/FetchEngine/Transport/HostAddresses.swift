import EventLoop
import Glibc

/// The addresses of hosts, looked up by us so that all of a name's are known before any is dialled (SEC-10).
///
/// libcurl shows them one by one, each when it is about to connect: of a name that leads inside and outside it would
/// take the way outside today, and the other when that is down.
struct HostAddresses {
    struct Key: Hashable {
        let host: String
        let family: NetworkConfiguration.AddressFamily
    }

    private struct Entry {
        let addresses: [IPAddress]
        let expiry: MonotonicTime
    }

    /// As long as libcurl keeps them.
    private static let lifetime: Duration = .seconds(60)
    private static let capacity = 10_000
    /// No more are tried.
    private static let most = 16
    private static let patience: Duration = .seconds(5)
    /// How long a lookup waits for a thread besides: until those of others whose name servers hang have ended, mostly.
    private static let turn: Duration = .seconds(10)
    /// A name server that hangs delays only the lookups of the owner that asks for its names.
    private static let threads = BlockingThreads(maximum: 128, maximumPerGroup: 16, maximumWaiting: 4096)

    private var entries: [Key: Entry] = [:]

    /// The addresses that were found a moment ago.
    func known(_ key: Key) -> [IPAddress]? {
        guard let entry = entries[key], entry.expiry > .now else { return nil }
        return entry.addresses
    }

    mutating func keep(_ addresses: [IPAddress], for key: Key) {
        if entries.count >= Self.capacity {
            let now = MonotonicTime.now
            entries = entries.filter { $0.value.expiry > now }
            if entries.count >= Self.capacity { entries.removeAll(keepingCapacity: true) }
        }
        entries[key] = Entry(addresses: addresses, expiry: .now.advanced(by: Self.lifetime))
    }

    /// Who looks names up for a load: its owner, in whichever session it is.
    ///
    /// - Parameter session: It is the owner where none is named, and is no tenant's number then.
    static func owner(of configuration: SessionConfiguration, in session: UInt64) -> String {
        configuration.owner ?? "session \(session)"
    }

    /// Asks the system's resolver.
    ///
    /// - Parameter owner: The caller; no owner may take all of the threads.
    /// - Returns: None when the name has no address.
    /// - Throws: `dnsLookupFailed` when no name server has said so, or not in time.
    static func lookUp(_ key: Key, for owner: String) async throws(LoadError) -> [IPAddress] {
        let found = await threads.run(in: owner, patience: patience, turn: turn) { resolve(key) }
        guard let addresses = found ?? nil else {
            throw LoadError(.dnsLookupFailed, "No name server has said whether the host exists.")
        }
        return addresses
    }

    /// Nil when the name service failed.
    private static func resolve(_ key: Key) -> [IPAddress]? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_family =
            switch key.family {
            case .any: AF_UNSPEC
            case .ipv4: AF_INET
            case .ipv6: AF_INET6
            }
        var first: UnsafeMutablePointer<addrinfo>?
        switch getaddrinfo(key.host, nil, &hints, &first) {
        case 0: break
        case EAI_AGAIN, EAI_FAIL, EAI_SYSTEM: return nil
        default: return []
        }
        defer { freeaddrinfo(first) }
        var addresses: [IPAddress] = []
        var next = first
        while let found = next?.pointee, addresses.count < most {
            if let pointer = found.ai_addr, let address = IPAddress(sockaddr: pointer) { addresses.append(address) }
            next = found.ai_next
        }
        return addresses
    }
}

/// The known addresses that a transfer may connect to.
enum VettedAddresses {
    /// Every address that libcurl finds; each is judged when it is dialled.
    case any
    /// These and no others.
    case only([IPAddress], host: String, port: UInt16)
    case refused(LoadError)

    /// Whether a connection may be made to an address.
    func allows(_ address: IPAddress) -> Bool {
        if case .only(let addresses, _, _) = self { addresses.contains(address) } else { true }
    }

    /// The line that tells libcurl (`CURLOPT_RESOLVE`), which is to forget it in its own time.
    var line: String? {
        guard case .only(let addresses, let host, let port) = self else { return nil }
        return "+\(host):\(port):" + addresses.map { $0.isIPv6 ? "[\($0)]" : "\($0)" }.joined(separator: ",")
    }
}
