import COpenSSL

extension Base64 {
    /// The text that stands for the bytes, with its padding (RFC 4648 §4).
    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        // The library ends the text with a zero.
        var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        let count = EVP_EncodeBlock(&text, bytes, Int32(clamping: bytes.count))
        return Array(text[..<Int(count)])
    }
}
