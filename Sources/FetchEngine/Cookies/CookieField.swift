import HTTPTypes

/// The value of a request's `Cookie` field, made of the caller's pairs and the cookies of the storage.
///
/// The caller's pairs come first and as they are; cookies of the storage follow unless the caller set their names.
struct CookieField {
    /// Cookies of a storage are added up to this length.
    static let maximumLength = 8192

    private(set) var value: [UInt8] = []
    private var names: Set<[UInt8]> = []

    init() {}

    /// Takes over the caller's fields.
    init(_ fields: [HTTPField]) {
        for field in fields {
            let bytes = field.withUnsafeBytesOfValue { Array($0) }
            guard !bytes[...].trimmed.isEmpty else { continue }
            separate()
            value += bytes
            for pair in bytes.split(separator: UInt8(ascii: ";")) { names.insert(Self.name(of: pair)) }
        }
    }

    mutating func append(_ cookies: [Cookie]) {
        for cookie in cookies where !names.contains(cookie.nameBytes) {
            let length = cookie.nameBytes.count + cookie.valueBytes.count + 1
            guard value.count + length + 2 <= Self.maximumLength else { return }
            separate()
            if !cookie.nameBytes.isEmpty { value += cookie.nameBytes + [UInt8(ascii: "=")] }
            value += cookie.valueBytes
        }
    }

    /// The names of the cookies, without those that have none.
    var namesInOrder: [String] {
        value.split(separator: UInt8(ascii: ";")).map { Self.name(of: $0) }.filter { !$0.isEmpty }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    private mutating func separate() {
        if !value.isEmpty { value += [UInt8(ascii: ";"), 0x20] }
    }

    private static func name(of pair: ArraySlice<UInt8>) -> [UInt8] {
        guard let equals = pair.firstIndex(of: UInt8(ascii: "=")) else { return [] }
        return Array(pair[..<equals].trimmed)
    }
}
