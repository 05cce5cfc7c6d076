/// The kind of an address, as far as it matters for a fetch on behalf of others.
enum AddressKind: Hashable {
    /// A host on the public internet.
    case publicUnicast
    /// This machine.
    case loopback
    /// A cloud's metadata service.
    case metadata
    /// An IPv6 form that an operating system or a gateway turns into an IPv4 address.
    case embeddingIPv4
    /// Private, link-local, shared, documentation, multicast and every other special block.
    case reserved

    init(_ address: IPAddress) {
        if Self.metadataAddresses.contains(address) {
            self = .metadata
        } else if address.isIPv4 {
            self = Self(ipv4: address)
        } else {
            self = Self(ipv6: address)
        }
    }

    /// The kind of a block's addresses, where it is one that blocks never open.
    init?(never prefix: IPPrefix) {
        if prefix.length == prefix.base.bitWidth, Self.metadataAddresses.contains(prefix.base) {
            self = .metadata
        } else if Self.loopbackBlocks.contains(where: { $0.contains(prefix) }) {
            self = .loopback
        } else if Self.embeddingBlocks.contains(where: { $0.contains(prefix) }) {
            self = .embeddingIPv4
        } else {
            return nil
        }
    }

    private init(ipv4 address: IPAddress) {
        switch address.value >> 24 {
        // Linux connects 0.0.0.0/8 to itself, so it is opened and refused like loopback.
        case 0, 127: self = .loopback
        default: self = Self.reservedIPv4.contains { $0.contains(address) } ? .reserved : .publicUnicast
        }
    }

    private init(ipv6 address: IPAddress) {
        if address.value <= 1 {
            self = .loopback
        } else if Self.embeddingBlocks.contains(where: { $0.contains(address) }) {
            self = .embeddingIPv4
        } else if !Self.globalUnicast.contains(address) || Self.reservedIPv6.contains(where: { $0.contains(address) }) {
            self = .reserved
        } else if let inner = Self.isatapAddress(address), Self(inner) != .publicUnicast {
            self = .embeddingIPv4
        } else {
            self = .publicUnicast
        }
    }

    /// The IPv4 address of an ISATAP interface identifier (RFC 5214 §6.1).
    static func isatapAddress(_ address: IPAddress) -> IPAddress? {
        let marker = UInt32(truncatingIfNeeded: address.value >> 32)
        guard marker & ~0x0300_0000 == 0x0000_5EFE else { return nil }
        return IPAddress(ipv4: UInt32(truncatingIfNeeded: address.value))
    }

    private static let metadataAddresses = Set(
        [
            "169.254.169.254", "169.254.170.2", "169.254.170.23", "168.63.129.16", "100.100.100.200", "192.0.0.192",
            "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
        ].compactMap { IPAddress($0) })

    private static let loopbackBlocks = ["0.0.0.0/8", "127.0.0.0/8", "::/127"].compactMap { IPPrefix($0) }

    private static let reservedIPv4 = [
        "10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
        "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",
        "240.0.0.0/4",
    ].compactMap { IPPrefix($0) }

    /// All public addresses handed out so far; everything outside is refused.
    private static let globalUnicast = IPPrefix(base: IPAddress(ipv6: 0x2000 << 112), length: 3)

    private static let reservedIPv6 = [
        "2001::/23", "2001:db8::/32", "3fff::/20",
    ].compactMap { IPPrefix($0) }

    /// Compatible, mapped, translated, NAT64, 6to4 and Teredo.
    private static let embeddingBlocks = [
        "::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32",
    ].compactMap { IPPrefix($0) }
}

extension IPPrefix {
    /// The IPv4 address inside an address of this translation network (RFC 6052 §2.2).
    ///
    /// Bits 64 to 71 stand apart from the address, so prefixes up to 64 bits have it in two pieces.
    func translatedIPv4(_ address: IPAddress) -> IPAddress? {
        guard contains(address) else { return nil }
        guard length < 96 else { return IPAddress(ipv4: UInt32(truncatingIfNeeded: address.value)) }
        let withoutGap = (address.value & ~0 << 64) | (address.value << 8 & 0xFFFF_FFFF_FFFF_FFFF)
        return IPAddress(ipv4: UInt32(truncatingIfNeeded: withoutGap >> UInt128(96 - length)))
    }
}
