/// Reads the lines of an authentication field.
///
/// Commas separate both challenges and the parameters of one, so only the text after a word tells which it is. Text
/// without a grammar is passed over; nothing that a server can write is an error.
struct AuthenticationFieldParser {
    private(set) var challenges: [OfferedChallenge] = []
    private var bytes: [UInt8] = []
    private var index = 0

    /// Reads one line; a parameter at its start belongs to the last challenge of the line before.
    mutating func read(_ line: [UInt8]) {
        bytes = line
        index = 0
        while index < bytes.count { readElement() }
    }

    private mutating func readElement() {
        let word = take(while: \.isToken)
        guard !word.isEmpty else { return passOver() }
        let name = String(decoding: word, as: UTF8.self).lowercased()
        let wordEnd = index
        skipSpace()
        if next == UInt8(ascii: "=") {
            index += 1
            skipSpace()
            let parameter = OfferedChallenge.Parameter(name: name, value: value())
            if !challenges.isEmpty { challenges[challenges.count - 1].parameters.append(parameter) }
        } else {
            challenges.append(OfferedChallenge(scheme: name, token: index > wordEnd ? token68() : nil))
        }
    }

    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func take(while belongs: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = index
        while let byte = next, belongs(byte) { index += 1 }
        return bytes[start..<index]
    }

    private mutating func skipSpace() { _ = take { $0 == 0x20 || $0 == 0x09 } }

    /// Passes over a character that starts no word; a quoted text as a whole, for its content is no challenge.
    private mutating func passOver() {
        if next == UInt8(ascii: "\"") { _ = quoted() } else { index += 1 }
    }

    private mutating func value() -> [UInt8] {
        if next == UInt8(ascii: "\"") { return quoted() }
        return Array(take { $0 != 0x20 && $0 != 0x09 && $0 != UInt8(ascii: ",") })
    }

    /// A quoted text; one that is not closed ends with the line.
    private mutating func quoted() -> [UInt8] {
        var text: [UInt8] = []
        index += 1
        while let byte = next {
            index += 1
            if byte == UInt8(ascii: "\"") { break }
            guard byte == UInt8(ascii: "\\"), let escaped = next else {
                text.append(byte)
                continue
            }
            text.append(escaped)
            index += 1
        }
        return text
    }

    /// A token that stands alone up to the next comma, or nil when parameters follow.
    private mutating func token68() -> [UInt8]? {
        let start = index
        let isEmpty = take(while: \.isToken68).isEmpty
        _ = take { $0 == UInt8(ascii: "=") }
        let token = Array(bytes[start..<index])
        skipSpace()
        if !isEmpty, next == nil || next == UInt8(ascii: ",") { return token }
        index = start
        return nil
    }
}
