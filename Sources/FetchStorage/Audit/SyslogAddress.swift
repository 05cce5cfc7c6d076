import Glibc

/// Where a syslog daemon takes messages: `unix:/dev/log`, `tcp://host:port`, `tls://host:port`.
package enum SyslogAddress: Sendable, Equatable, LosslessStringConvertible {
    /// A datagram socket of this machine.
    case unix(path: String)
    /// A TCP port; an IPv6 address is written in brackets.
    case tcp(host: String, port: UInt16)
    /// The same with TLS (RFC 5425); its certificate has to be for that host.
    case tls(host: String, port: UInt16)

    package init?(_ description: String) {
        if description.hasPrefix("unix:/") {
            let path = String(description.dropFirst(5))
            // With the NUL behind it.
            guard path.utf8.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path), !path.utf8.contains(0) else {
                return nil
            }
            self = .unix(path: path)
            return
        }
        let isSecure = description.hasPrefix("tls://")
        guard isSecure || description.hasPrefix("tcp://") else { return nil }
        let rest = description.dropFirst(6)
        guard let colon = rest.lastIndex(of: ":"), let port = UInt16(rest[rest.index(after: colon)...]), port > 0 else {
            return nil
        }
        var host = rest[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
            guard host.contains(":") else { return nil }
        } else if host.contains(":") {
            return nil
        }
        let isName = host.utf8.allSatisfy { byte in
            byte > 0x20 && byte < 0x7F && !"/@[]?#%".utf8.contains(byte)
        }
        guard !host.isEmpty, isName else { return nil }
        self = isSecure ? .tls(host: String(host), port: port) : .tcp(host: String(host), port: port)
    }

    package var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .tcp(let host, let port): "tcp://\(Self.text(host)):\(port)"
        case .tls(let host, let port): "tls://\(Self.text(host)):\(port)"
        }
    }

    private static func text(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }
}
