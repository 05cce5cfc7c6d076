/// The rules for host names that stand in a target, in the form URL records have them in.
enum HostName {
    /// The fault in the syntax of a name, or `nil` when DNS could hold the name.
    static func fault(in name: String) -> TargetRefusal? {
        if name.utf8.last == UInt8(ascii: ".") { return .trailingDot }
        guard (1...253).contains(name.utf8.count) else { return .nameInvalid }
        var labelLength = 0
        var startsWithLetter = false
        for byte in name.utf8 {
            if byte == UInt8(ascii: ".") {
                guard labelLength > 0 else { return .nameInvalid }
                labelLength = 0
            } else {
                if labelLength == 0 { startsWithLetter = byte.isASCIILetter }
                labelLength += 1
                guard labelLength <= 63, isNameCharacter(byte) else { return .nameInvalid }
            }
        }
        return startsWithLetter ? nil : .nameInvalid
    }

    /// A host without the dot of the root of DNS at its end, which makes it no other host.
    static func withoutRoot(_ host: String) -> String {
        host.utf8.last == UInt8(ascii: ".") ? String(host.dropLast()) : host
    }

    /// Whether a name belongs to a private network, or to an internal machine of a cloud provider.
    static func isForbidden(_ name: String) -> Bool {
        forbidden.contains(name[...]) || parents(of: name).contains(where: forbidden.contains)
    }

    /// The names above a name, nearest first.
    static func parents(of name: String) -> some Sequence<Substring> {
        sequence(first: name[...]) { rest in
            rest.utf8.firstIndex(of: UInt8(ascii: ".")).map { rest[rest.utf8.index(after: $0)...] }
        }.dropFirst()
    }

    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    /// Special-use names (RFC 6761 and successors), names common in private networks, and metadata services.
    private static let forbidden: Set<Substring> = [
        "localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp", "home.arpa", "svc",
        "cluster.local", "onion", "alt", "test", "invalid", "in-addr.arpa", "ip6.arpa",
        "metadata.goog", "metadata.tencentyun.com", "metadata.packet.net", "metadata.platformequinix.com",
        "metadata.azure.com", "instance-data", "metadata",
    ]
}

extension TargetRefusal {
    static let trailingDot = Self(.hostTrailingDot, "The host name ends in a dot.")
    static let nameInvalid = Self(.urlInvalid, "The host is not a name that DNS could hold.")
    static let singleLabel = Self(.hostSingleLabel, "The host name has no dot, so it means a private network.")
    static let nameForbidden = Self(.hostForbidden, "The host name is reserved for private networks.")
    static let notListed = Self(.hostForbidden, "The host is not on the list of allowed ones.")
}
