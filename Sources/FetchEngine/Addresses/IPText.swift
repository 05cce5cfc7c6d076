/// IPv4 addresses as text.
enum IPv4Text {
    /// Reads the number forms that the URL standard accepts: one to four parts, decimal, octal or hexadecimal.
    static func parse(_ text: ArraySlice<UInt8>) -> UInt32? {
        var parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        if parts.last?.isEmpty == true, parts.count > 1 { parts.removeLast() }
        guard parts.count <= 4, let last = parts.popLast().flatMap(number) else { return nil }
        guard last < 1 << (32 - 8 * UInt64(parts.count)) else { return nil }
        var address: UInt64 = 0
        for part in parts {
            guard let value = number(part), value <= 255 else { return nil }
            address = address << 8 | value
        }
        return UInt32(address << (32 - 8 * UInt64(parts.count)) | last)
    }

    /// Reads exactly four decimal octets without leading zeros.
    static func parseCanonical(_ text: some Collection<UInt8>) -> UInt32? {
        guard text.count <= 15 else { return nil }
        var address: UInt32 = 0
        var octet: UInt32?
        var dots = 0
        for byte in text {
            if byte == UInt8(ascii: ".") {
                guard let value = octet, dots < 3 else { return nil }
                address = address << 8 | value
                octet = nil
                dots += 1
            } else {
                guard byte.isASCIIDigit, octet != 0 else { return nil }
                octet = (octet ?? 0) * 10 + UInt32(byte - UInt8(ascii: "0"))
                guard octet ?? 256 <= 255 else { return nil }
            }
        }
        guard let octet, dots == 3 else { return nil }
        return address << 8 | octet
    }

    /// One part; numbers beyond 32 bits come back as too large a number, not as `nil`.
    static func number(_ text: ArraySlice<UInt8>) -> UInt64? {
        guard let first = text.first else { return nil }
        var digits = text
        var radix: UInt64 = 10
        if first == UInt8(ascii: "0"), text.count > 1 {
            let isHexadecimal = text[text.startIndex + 1] | 0x20 == UInt8(ascii: "x")
            digits = text.dropFirst(isHexadecimal ? 2 : 1)
            radix = isHexadecimal ? 16 : 8
        }
        var value: UInt64 = 0
        for byte in digits {
            guard let digit = byte.hexValue, digit < radix else { return nil }
            value = min(value * radix + UInt64(digit), 1 << 32)
        }
        return value
    }
}

/// IPv6 addresses as text, without brackets and zone (RFC 4291 §2.2).
enum IPv6Text {
    static func parse(_ text: ArraySlice<UInt8>) -> UInt128? {
        guard text.count <= 45 else { return nil }
        guard let gap = doubleColon(in: text) else {
            let groups = groups(text, mayEndInIPv4: true)
            return groups?.count == 8 ? groups.map(assemble) : nil
        }
        let head = text[..<gap]
        let tail = text[(gap + 2)...]
        guard let left = head.isEmpty ? [] : groups(head, mayEndInIPv4: false),
            let right = tail.isEmpty ? [] : groups(tail, mayEndInIPv4: true),
            left.count + right.count <= 7
        else { return nil }
        return assemble(left + Array(repeating: 0, count: 8 - left.count - right.count) + right)
    }

    private static func doubleColon(in text: ArraySlice<UInt8>) -> Int? {
        text.indices.dropLast().first { text[$0] == UInt8(ascii: ":") && text[$0 + 1] == UInt8(ascii: ":") }
    }

    /// Groups between single colons; the last may be four decimal octets.
    private static func groups(_ text: ArraySlice<UInt8>, mayEndInIPv4: Bool) -> [UInt16]? {
        var result: [UInt16] = []
        let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if mayEndInIPv4, index == parts.count - 1, part.contains(UInt8(ascii: ".")) {
                guard let address = IPv4Text.parseCanonical(part) else { return nil }
                result += [UInt16(address >> 16), UInt16(truncatingIfNeeded: address)]
            } else {
                guard (1...4).contains(part.count), part.allSatisfy({ $0.hexValue != nil }) else { return nil }
                result.append(part.reduce(0) { $0 << 4 | UInt16($1.hexValue ?? 0) })
            }
        }
        return result
    }

    private static func assemble(_ groups: [UInt16]) -> UInt128 {
        groups.reduce(0) { $0 << 16 | UInt128($1) }
    }
}
