import HTTPTypes

/// The content of `Strict-Transport-Security` (RFC 6797 §6.1).
struct StrictTransport: Equatable {
    var maximumAge: Duration
    var includesSubdomains: Bool

    /// A longer time counts as this one, about 68 years.
    private static let maximumSeconds: Int64 = 1 << 31

    init(maximumAge: Duration, includesSubdomains: Bool) {
        self.maximumAge = maximumAge
        self.includesSubdomains = includesSubdomains
    }

    /// Reads the field; nil when it breaks the grammar, lacks `max-age`, or says something twice.
    ///
    /// Directives that are not known are passed over.
    init?(field: String) {
        var directives: [String: String] = [:]
        for part in Self.parts(of: Array(field.utf8)) {
            let pair = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let name = pair[0].trimmed
            guard !name.isEmpty || pair.count > 1 else { continue }
            guard !name.isEmpty, name.allSatisfy(\.isToken),
                let value = Self.value(pair.count > 1 ? pair[1].trimmed : []),
                directives.updateValue(value, forKey: String(decoding: name, as: UTF8.self).lowercased()) == nil
            else { return nil }
        }
        guard let age = directives["max-age"], !age.isEmpty, age.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        maximumAge = .seconds(min(Int64(age) ?? .max, Self.maximumSeconds))
        includesSubdomains = directives["includesubdomains"] != nil
    }

    /// The parts between the semicolons outside of quoted texts.
    private static func parts(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var isQuoted = false
        return bytes.split(omittingEmptySubsequences: false) { byte in
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            return byte == UInt8(ascii: ";") && !isQuoted
        }
    }

    /// A token, or a quoted text without its quotes; nil for neither.
    private static func value(_ bytes: ArraySlice<UInt8>) -> String? {
        guard bytes.first == UInt8(ascii: "\"") else {
            return bytes.allSatisfy(\.isToken) ? String(decoding: bytes, as: UTF8.self) : nil
        }
        guard bytes.count >= 2, bytes.last == UInt8(ascii: "\"") else { return nil }
        return String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self)
    }
}
