extension [UInt8] {
    /// Appends a byte, as `%XX` when the set contains it.
    mutating func append(_ byte: UInt8, encoding set: ASCIISet) {
        guard byte >= 0x80 || set.contains(byte) else { return append(byte) }
        append(UInt8(ascii: "%"))
        append(hexDigit(byte >> 4))
        append(hexDigit(byte & 15))
    }

    /// Appends bytes, each as `%XX` when the set contains it.
    mutating func append(_ bytes: ArraySlice<UInt8>, encoding set: ASCIISet) {
        for byte in bytes { append(byte, encoding: set) }
    }
}

private func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
}

/// The bytes with every `%XX` replaced by its byte; other percent signs stay.
func percentDecoded(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = bytes.startIndex
    while index < bytes.endIndex {
        if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.endIndex,
            let high = bytes[index + 1].hexValue, let low = bytes[index + 2].hexValue
        {
            result.append(high << 4 | low)
            index += 3
        } else {
            result.append(bytes[index])
            index += 1
        }
    }
    return result
}
