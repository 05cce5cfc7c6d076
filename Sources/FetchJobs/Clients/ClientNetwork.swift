import FetchEngine

/// The network that failures and connections are counted for: an IPv4 address, or the /64 of an IPv6 address.
///
/// Whoever has one address of such a network has all of them.
package struct ClientNetwork: Sendable, Hashable {
    private let bytes: [UInt8]

    private static let mappedIPv4: [UInt8] = Array(repeating: 0, count: 10) + [255, 255]

    init(of address: IPAddress) {
        let bytes = address.bytes
        // A socket for both versions shows IPv4 clients as mapped ones (RFC 4291 §2.5.5.2).
        if bytes.starts(with: Self.mappedIPv4) {
            self.bytes = Array(bytes.suffix(4))
        } else {
            self.bytes = address.isIPv4 ? bytes : Array(bytes.prefix(8))
        }
    }

    /// The network of an address in its usual form; nil when the text is no address.
    package init?(of text: String) {
        guard let address = IPAddress(text) else { return nil }
        self.init(of: address)
    }
}

extension ClientNetwork: CustomStringConvertible {
    /// An IPv4 address, or the first half of an IPv6 address: `192.0.2.1`, `2001:db8:0:0::/64`.
    package var description: String {
        if bytes.count == 4 { return bytes.map(String.init).joined(separator: ".") }
        let groups = stride(from: 0, to: bytes.count, by: 2).map { index in
            String(UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1]), radix: 16)
        }
        return groups.joined(separator: ":") + "::/64"
    }
}
