/// A media type with its parameters, read as browsers do (https://mimesniff.spec.whatwg.org/#parsing-a-mime-type).
struct MediaType: Equatable {
    struct Parameter: Equatable {
        /// In lower case.
        let name: String
        /// Without quotes and backslashes.
        let value: String
    }

    /// Those behind are not looked at: no type has so many.
    static let maximumParameters = 64

    /// `type/subtype` in lower case.
    let essence: String
    /// In the order they were written; of two with one name the first.
    private(set) var parameters: [Parameter] = []

    /// The charset parameter as it was written, without quotes; nil when it is empty.
    var charset: String? { self["charset"].flatMap { $0.isEmpty ? nil : $0 } }

    /// The value of the parameter with this name in lower case.
    subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// Makes a type; both are in lower case.
    init(essence: String, charset: String? = nil) {
        self.essence = essence
        if let charset { parameters = [Parameter(name: "charset", value: charset)] }
    }

    /// Reads a field value; `nil` when it has no `type/subtype`.
    init?(_ value: String) {
        if Self.isPlain(value) {
            essence = value
            return
        }
        let bytes = Self.trimmed(Array(value.utf8)[...])
        guard let slash = bytes.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        let end = bytes[slash...].firstIndex(of: UInt8(ascii: ";")) ?? bytes.endIndex
        let (type, subtype) = (bytes[..<slash], Self.trimmed(bytes[(slash + 1)..<end]))
        guard Self.isToken(type), Self.isToken(subtype) else { return nil }
        essence = Self.lowercased(type) + "/" + Self.lowercased(subtype)
        var reader = Reader(bytes: bytes, position: end)
        while parameters.count < Self.maximumParameters, let parameter = reader.next() {
            if self[parameter.name] == nil { parameters.append(parameter) }
        }
    }
}

extension MediaType: CustomStringConvertible {
    /// The type as a field value, parameters quoted where they must be.
    var description: String {
        parameters.reduce(into: essence) { text, parameter in
            let isBare = Self.isToken(Array(parameter.value.utf8)[...])
            text += ";" + parameter.name + "=" + (isBare ? parameter.value : Self.quoted(parameter.value))
        }
    }

    /// By scalars: a quote with an accent upon it is one character, and not equal to a quote.
    private static func quoted(_ value: String) -> String {
        var text = "\""
        for scalar in value.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { text += "\\" }
            text.unicodeScalars.append(scalar)
        }
        return text + "\""
    }
}

extension MediaType {
    /// Reads parameters one after another.
    private struct Reader {
        let bytes: ArraySlice<UInt8>
        /// At a semicolon, or at the end.
        var position: Int

        private var current: UInt8? { position < bytes.endIndex ? bytes[position] : nil }

        /// The next parameter that can be read; others are skipped.
        mutating func next() -> Parameter? {
            while current != nil {
                position += 1
                while let byte = current, MediaType.isWhiteSpace(byte) { position += 1 }
                let name = take { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "=") }
                guard current == UInt8(ascii: "=") else { continue }
                position += 1
                guard let value = value() else { continue }
                guard MediaType.isToken(name), value.allSatisfy(MediaType.isQuotable) else { continue }
                return Parameter(name: MediaType.lowercased(name), value: String(decoding: value, as: UTF8.self))
            }
            return nil
        }

        /// A value up to the next semicolon, or nil for an empty one without quotes.
        private mutating func value() -> [UInt8]? {
            guard current == UInt8(ascii: "\"") else {
                let value = MediaType.withoutTrailingSpace(take { $0 == UInt8(ascii: ";") })
                return value.isEmpty ? nil : Array(value)
            }
            let value = quotedString()
            _ = take { $0 == UInt8(ascii: ";") }
            return value
        }

        /// The standard's "HTTP quoted string": one without its closing quote ends with the text.
        private mutating func quotedString() -> [UInt8] {
            position += 1
            var value: [UInt8] = []
            while let byte = current {
                position += 1
                if byte == UInt8(ascii: "\"") { break }
                guard byte == UInt8(ascii: "\\") else {
                    value.append(byte)
                    continue
                }
                value.append(current ?? byte)
                if current != nil { position += 1 }
            }
            return value
        }

        private mutating func take(until isEnd: (UInt8) -> Bool) -> ArraySlice<UInt8> {
            let start = position
            while let byte = current, !isEnd(byte) { position += 1 }
            return bytes[start..<position]
        }
    }

    private static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        withoutTrailingSpace(bytes.drop(while: isWhiteSpace))
    }

    private static func withoutTrailingSpace(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        bytes.lastIndex { !isWhiteSpace($0) }.map { bytes[...$0] } ?? []
    }

    /// Whether a field value is `type/subtype` in lower case and nothing else, as most are: nothing of it is copied then.
    private static func isPlain(_ value: String) -> Bool {
        var value = value
        return value.withUTF8 { bytes in
            guard let slash = bytes.firstIndex(of: UInt8(ascii: "/")) else { return false }
            return slash > 0 && slash + 1 < bytes.count && isPlainToken(bytes[..<slash])
                && isPlainToken(bytes[(slash + 1)...])
        }
    }

    private static func isPlainToken(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        bytes.allSatisfy { 0x61...0x7A ~= $0 || $0.isToken && $0 == $0.asciiLowercased }
    }

    /// RFC 9110 §5.6.2.
    private static func isToken(_ bytes: ArraySlice<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy(\.isToken)
    }

    private static func isQuotable(_ byte: UInt8) -> Bool { byte == 0x09 || byte >= 0x20 && byte != 0x7F }

    private static func lowercased(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.map(\.asciiLowercased), as: UTF8.self)
    }
}
