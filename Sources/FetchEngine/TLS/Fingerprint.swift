import COpenSSL

/// A SHA-256 digest: of a certificate, of a public key, or of a whole chain.
public struct Fingerprint: Sendable, Hashable, CustomStringConvertible {
    /// The 32 bytes.
    public let bytes: [UInt8]

    /// Reads the text of a digest.
    ///
    /// Either 64 hexadecimal digits, with or without colons between the bytes, or base64 as pins are written
    /// (RFC 7469), with or without `sha256/` before it. Anything else is `nil`.
    public init?(_ text: String) {
        guard let bytes = Self.hexadecimal(text) ?? Self.base64(text) else { return nil }
        self.bytes = bytes
    }

    /// The digest of some bytes.
    public init(of content: [UInt8]) {
        var digest = [UInt8](repeating: 0, count: Self.length)
        EVP_Digest(content, content.count, &digest, nil, EVP_sha256(), nil)
        bytes = digest
    }

    /// The digest of several texts, told apart by their lengths.
    init(ofAll parts: [[UInt8]]) {
        var content: [UInt8] = []
        for part in parts {
            withUnsafeBytes(of: UInt64(part.count).bigEndian) { content.append(contentsOf: $0) }
            content.append(contentsOf: part)
        }
        self.init(of: content)
    }

    /// 64 lower-case hexadecimal digits.
    public var description: String { Hexadecimal.text(bytes) }

    /// The base64 text, as pins are written.
    var base64: String { String(decoding: Base64.encode(bytes), as: UTF8.self) }

    private static let length = 32

    private static func hexadecimal(_ text: String) -> [UInt8]? {
        let digits = text.utf8.filter { $0 != UInt8(ascii: ":") }
        guard digits.count == 2 * length else { return nil }
        return Hexadecimal.decode(digits)
    }

    private static func base64(_ text: String) -> [UInt8]? {
        let digits = Array((text.hasPrefix("sha256/") ? text.dropFirst(7).drop { $0 == "/" } : text[...]).utf8)
        guard digits.count == 44, digits.last == UInt8(ascii: "="), digits[42] != UInt8(ascii: "=") else { return nil }
        var decoded = [UInt8](repeating: 0, count: 33)
        guard EVP_DecodeBlock(&decoded, digits, 44) == 33 else { return nil }
        return Array(decoded[..<length])
    }
}
