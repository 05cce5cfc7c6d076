import Foundation

/// A secret that is planted through one input of the service, and looked for in everything that the service leaves.
struct Canary: Sendable {
    /// The input, as a person would call it.
    let input: String
    /// What is looked for: the text itself, or bytes that a secret in base64 stands for.
    let bytes: [UInt8]
    /// Whether a server is sent it, in whatever form; the search has to find it among what servers received.
    let isSent: Bool

    /// Twenty letters and digits, which neither JSON nor URLs escape.
    static func text() -> String {
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        return String((0..<20).compactMap { _ in letters.randomElement() })
    }

    /// The forms in which the secret could be stored or shown, by their names.
    ///
    /// None has a line break or a NUL, which the search could not look for.
    var forms: [(name: String, bytes: [UInt8])] {
        let escaped = bytes.map { String(format: "\\u%04x", $0) }.joined()
        let texts =
            [
                ("hexadecimal", hexadecimal("%02x")), ("upper-case hexadecimal", hexadecimal("%02X")),
                ("percent-encoded", hexadecimal("%%%02X")), ("lower-case percent-encoded", hexadecimal("%%%02x")),
                ("JSON-escaped", escaped),
            ] + base64Forms.map { ("base64", $0) }
        return [("clear", plainBytes)] + texts.map { ($0.0, Array($0.1.utf8)) }
    }

    private func hexadecimal(_ format: String) -> String { bytes.map { String(format: format, $0) }.joined() }

    /// The longest run of the bytes without a line break and a NUL.
    private var plainBytes: [UInt8] {
        bytes.split { $0 == 0 || $0 == 10 }.max { $0.count < $1.count }.map(Array.init) ?? []
    }

    /// The base64 of the bytes behind others: it depends on how many stand before them.
    ///
    /// Without the digits at the ends, which also depend on the neighbours; in both alphabets (RFC 4648).
    private var base64Forms: Set<String> {
        var forms: Set<String> = []
        for offset in 0..<3 {
            let digits = Data([UInt8](repeating: 0, count: offset) + bytes).base64EncodedString()
            let (first, end) = ((offset * 8 + 5) / 6, (offset + bytes.count) * 8 / 6)
            let own = String(digits.prefix(end).dropFirst(first))
            forms.formUnion([own, own.replacing("+", with: "-").replacing("/", with: "_")])
        }
        return forms
    }
}
