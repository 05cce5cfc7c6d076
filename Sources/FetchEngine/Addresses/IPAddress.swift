public import Glibc

/// An IPv4 or IPv6 address, without port and zone.
public struct IPAddress: Sendable, Hashable {
    /// The address as a number; an IPv4 address fills the low 32 bits.
    let value: UInt128
    /// Whether this is an IPv6 address, which a mapped IPv4 address (`::ffff:0:0/96`) is too.
    public let isIPv6: Bool

    /// Whether this is an IPv4 address.
    public var isIPv4: Bool { !isIPv6 }

    /// The width in bits: 32 or 128.
    var bitWidth: Int { isIPv6 ? 128 : 32 }

    init(ipv4: UInt32) {
        value = UInt128(ipv4)
        isIPv6 = false
    }

    init(ipv6: UInt128) {
        value = ipv6
        isIPv6 = true
    }

    /// The address of a socket address; `nil` for other families.
    ///
    /// The pointer must lead to as many bytes as its family has.
    public init?(sockaddr: UnsafePointer<sockaddr>) {
        let raw = UnsafeRawPointer(sockaddr)
        switch CInt(sockaddr.pointee.sa_family) {
        case AF_INET:
            self.init(ipv4: UInt32(bigEndian: raw.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
        case AF_INET6:
            let address = raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            self.init(ipv6: withUnsafeBytes(of: address) { UInt128(bigEndian: $0.loadUnaligned(as: UInt128.self)) })
        default:
            return nil
        }
    }

    /// Parses four decimal octets or an IPv6 address without brackets and zone; `nil` for every other text.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        if let address = IPv4Text.parseCanonical(bytes[...]) {
            self.init(ipv4: address)
        } else if let address = IPv6Text.parse(bytes[...]) {
            self.init(ipv6: address)
        } else {
            return nil
        }
    }

    /// Reads the host of a URL record; `nil` when it is a name.
    init?(host: String) {
        guard let first = host.utf8.first else { return nil }
        if first == UInt8(ascii: "[") {
            guard let address = IPv6Text.parse(Array(host.utf8.dropFirst().dropLast())[...]) else { return nil }
            self.init(ipv6: address)
        } else {
            guard first.isASCIIDigit, let address = IPv4Text.parseCanonical(host.utf8) else { return nil }
            self.init(ipv4: address)
        }
    }

    /// The 4 or 16 bytes in network order.
    public var bytes: [UInt8] {
        (1...(bitWidth / 8)).map { UInt8(truncatingIfNeeded: value >> UInt128(bitWidth - 8 * $0)) }
    }
}

extension IPAddress: CustomStringConvertible {
    /// The canonical text: decimal octets, or RFC 5952 with all groups in hexadecimal.
    public var description: String {
        guard isIPv6 else { return bytes.map { String($0) }.joined(separator: ".") }
        let groups = (0..<8).map { UInt16(truncatingIfNeeded: value >> UInt128(112 - 16 * $0)) }
        let texts = groups.map { String($0, radix: 16) }
        guard let zeros = Self.longestZeroRun(groups) else { return texts.joined(separator: ":") }
        return texts[..<zeros.lowerBound].joined(separator: ":") + "::"
            + texts[zeros.upperBound...].joined(separator: ":")
    }

    /// The first longest run of two or more zero groups, which `::` stands for.
    private static func longestZeroRun(_ groups: [UInt16]) -> Range<Int>? {
        var longest = 0..<1
        var start = 0
        for index in groups.indices {
            if groups[index] != 0 { start = index + 1 }
            if index + 1 - start > longest.count { longest = start..<(index + 1) }
        }
        return longest.count > 1 ? longest : nil
    }
}

/// A block of addresses in CIDR notation.
public struct IPPrefix: Sendable, Hashable, CustomStringConvertible {
    /// The first address of the block.
    public let base: IPAddress
    /// How many leading bits all addresses of the block share.
    public let length: Int

    /// Parses `address/length`, or an address alone as the block of itself.
    ///
    /// `nil` when the text is neither, or when bits beyond the length are set, which is usually a slip of the pen.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let base = IPAddress(String(parts[0])) else { return nil }
        var length = base.bitWidth
        if parts.count == 2 {
            guard parts[1].utf8.count <= 3, parts[1].utf8.allSatisfy(\.isASCIIDigit), let number = Int(parts[1]),
                number <= base.bitWidth
            else { return nil }
            length = number
        }
        self.init(base: base, length: length)
        guard (base.value & ~mask) == 0 else { return nil }
    }

    init(base: IPAddress, length: Int) {
        self.base = base
        self.length = length
    }

    private var mask: UInt128 { ~0 << UInt128(base.bitWidth - length) }

    /// Whether the address is in the block; a mapped IPv6 address is in no IPv4 block.
    public func contains(_ address: IPAddress) -> Bool {
        address.isIPv6 == base.isIPv6 && (address.value ^ base.value) >> UInt128(base.bitWidth - length) == 0
    }

    /// Whether all of another block is in this one.
    func contains(_ other: IPPrefix) -> Bool { other.length >= length && contains(other.base) }

    /// The block in CIDR notation.
    public var description: String { "\(base)/\(length)" }
}
