import HTTPTypes

/// The directives of `Cache-Control` fields (RFC 9111 §5.2), in requests and responses alike.
struct CacheControl: Sendable, Equatable {
    struct Directive: Sendable, Equatable {
        /// In lower case.
        let name: String
        /// The text after the equals sign, without quotes; nil without an equals sign.
        let argument: String?
    }

    /// A number of seconds that does not fit is this many (RFC 9111 §1.2.2).
    static let maximumSeconds: Int64 = 1 << 31

    private(set) var directives: [Directive] = []

    /// Reads the values of all `Cache-Control` fields, in order.
    ///
    /// Anything can be read: directives that break the grammar are skipped.
    init(_ values: some Sequence<String>) {
        for value in values {
            var reader = DirectiveReader(Array(value.utf8)[...])
            while let directive = reader.next() { directives.append(directive) }
        }
    }

    init(_ fields: HTTPFields) { self.init(fields[values: .cacheControl]) }

    var isEmpty: Bool { directives.isEmpty }

    func contains(_ name: String) -> Bool { directives.contains { $0.name == name } }

    /// The seconds a directive gives, or nil when it is not there.
    ///
    /// A directive that is no number, or that is repeated with another number, gives zero: an answer whose freshness
    /// cannot be read counts as stale (RFC 9111 §4.2.1).
    func seconds(_ name: String) -> Duration? {
        var found: Int64?
        for directive in directives where directive.name == name {
            let number = directive.argument.flatMap(Self.number) ?? 0
            if let found, found != number { return .zero }
            found = number
        }
        return found.map { .seconds($0) }
    }

    /// Whether a directive is there without an argument.
    func isBare(_ name: String) -> Bool { directives.contains { $0.name == name && $0.argument == nil } }

    private static func number(_ text: String) -> Int64? {
        guard !text.isEmpty else { return nil }
        var number: Int64 = 0
        for byte in text.utf8 {
            guard (0x30...0x39).contains(byte) else { return nil }
            number = min(number * 10 + Int64(byte - 0x30), maximumSeconds)
        }
        return number
    }
}

/// Takes directives from a field value, one after the other.
private struct DirectiveReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func next() -> CacheControl.Directive? {
        while !rest.isEmpty {
            let name = take { $0 != comma && $0 != equals }
            guard rest.first == equals else {
                rest = rest.dropFirst()
                if let directive = directive(name, nil) { return directive }
                continue
            }
            rest = rest.dropFirst()
            let argument = rest.first == quote ? quoted() : take { $0 != comma }
            rest = rest.drop { $0 != comma }.dropFirst()
            if let directive = directive(name, argument) { return directive }
        }
        return nil
    }

    /// A name with white space before the equals sign has no argument that could be trusted.
    private func directive(_ name: ArraySlice<UInt8>, _ argument: ArraySlice<UInt8>?) -> CacheControl.Directive? {
        let trimmed = name.trimmed
        guard !trimmed.isEmpty else { return nil }
        let isLoose = argument != nil && trimmed.endIndex != name.endIndex
        return CacheControl.Directive(
            name: String(decoding: trimmed, as: UTF8.self).lowercased(),
            argument: argument.map { isLoose ? "" : String(decoding: Self.trimmedEnd($0), as: UTF8.self) })
    }

    private mutating func take(while condition: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let taken = rest.prefix(while: condition)
        rest = rest[taken.endIndex...]
        return taken
    }

    /// The content of a quoted string; one that does not end goes to the end of the value.
    private mutating func quoted() -> ArraySlice<UInt8> {
        var content: [UInt8] = []
        rest = rest.dropFirst()
        while let byte = rest.popFirst(), byte != quote {
            if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() {
                content.append(escaped)
            } else {
                content.append(byte)
            }
        }
        return content[...]
    }

    private static func trimmedEnd(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes
        while let last = bytes.last, isSpace(last) { bytes.removeLast() }
        return bytes
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

private let comma = UInt8(ascii: ",")
private let equals = UInt8(ascii: "=")
private let quote = UInt8(ascii: "\"")
