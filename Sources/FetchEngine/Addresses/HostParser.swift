/// The URL standard's host parser: the text between the credentials and the port, to its one serialization.
enum HostParser {
    static func parse(_ bytes: ArraySlice<UInt8>, isSpecial: Bool) throws(URLRecord.Failure) -> [UInt8] {
        if bytes.first == UInt8(ascii: "[") { return try parseIPv6(bytes) }
        guard isSpecial else { return try parseOpaque(bytes) }
        let name = try domainToASCII(bytes)
        guard !name.contains(where: ASCIISet.forbiddenInDomains.contains) else { throw .hostInvalidCharacter }
        guard endsInNumber(name[...]), IPv4Text.parseCanonical(name[...]) == nil else { return name }
        guard let address = IPv4Text.parse(name[...]) else { throw .ipv4 }
        return Array(IPAddress(ipv4: address).description.utf8)
    }

    private static func parseIPv6(_ bytes: ArraySlice<UInt8>) throws(URLRecord.Failure) -> [UInt8] {
        guard bytes.count > 1, bytes.last == UInt8(ascii: "]") else { throw .ipv6Unclosed }
        guard let address = IPv6Text.parse(bytes.dropFirst().dropLast()) else { throw .ipv6 }
        return Array("[\(IPAddress(ipv6: address))]".utf8)
    }

    private static func parseOpaque(_ bytes: ArraySlice<UInt8>) throws(URLRecord.Failure) -> [UInt8] {
        guard !bytes.contains(where: ASCIISet.forbiddenInHosts.contains) else { throw .hostInvalidCharacter }
        var result: [UInt8] = []
        result.append(bytes, encoding: .control)
        return result
    }

    /// Lower-cases a plain ASCII name; everything else goes through IDNA.
    private static func domainToASCII(_ bytes: ArraySlice<UInt8>) throws(URLRecord.Failure) -> [UInt8] {
        let decoded = bytes.contains(UInt8(ascii: "%")) ? percentDecoded(bytes) : Array(bytes)
        let isASCII = !decoded.contains { $0 >= 0x80 }
        let lowercased = decoded.map(\.asciiLowercased)
        if isASCII, !InternationalName.hasPunycodeLabel(lowercased) { return lowercased }
        guard decoded.count <= InternationalName.maximumBytes, let ascii = InternationalName.ascii(decoded),
            !ascii.isEmpty
        else { throw .domainToASCII }
        return ascii
    }

    /// Whether the standard treats a name as an IPv4 address: its last label is a number.
    private static func endsInNumber(_ name: ArraySlice<UInt8>) -> Bool {
        let trimmed = name.last == UInt8(ascii: ".") ? name.dropLast() : name
        let start = trimmed.lastIndex(of: UInt8(ascii: ".")).map { $0 + 1 } ?? trimmed.startIndex
        let last = trimmed[start...]
        guard last.first?.isASCIIDigit == true else { return false }
        return last.allSatisfy(\.isASCIIDigit) || IPv4Text.number(last) != nil
    }
}
