/// Bounds the texts of an origin in a question, because an origin may send anything and the delegate reads it.
enum QuestionContent {
    /// So many bytes a text has at most.
    static let maximumTextBytes = 1024
    /// A chain of certificates is shown as text, each of which is longer than other texts.
    static let maximumCertificateBytes = 8192
    /// So many elements an array has at most.
    static let maximumElements = 100

    /// The same object within ``AskedQuestion/maximumContentBytes``: long texts are cut, control and bidirectional
    /// characters written as escapes (SEC-47), and where it is still too large, lists are cut to fit.
    static func bounded(_ text: [UInt8]) -> RawJSON {
        guard let value = try? JSONParser.parse(text) else { return RawJSON(Array("{}".utf8)) }
        var elements = maximumElements
        while true {
            var writer = JSONWriter()
            writer.value(cut(value, to: elements))
            if writer.bytes.count <= AskedQuestion.maximumContentBytes || elements == 0 { return RawJSON(writer.bytes) }
            elements /= 2
        }
    }

    private static func cut(_ value: JSONValue, to elements: Int, name: String = "") -> JSONValue {
        switch value {
        case .null, .bool, .number: value
        case .string(let text):
            .string(visible(text, upTo: name == "pem" ? maximumCertificateBytes : maximumTextBytes))
        case .array(let all): .array(all.prefix(elements).map { cut($0, to: elements) })
        case .object(let members):
            .object(members.map { JSONMember($0.name, cut($0.value, to: elements, name: $0.name)) })
        }
    }

    private static func visible(_ text: String, upTo limit: Int) -> String {
        let isPlain = text.utf8.count <= limit && text.utf8.allSatisfy { (0x20..<0x7F).contains($0) || $0 == 0x0A }
        guard !isPlain else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            let isShown = scalar == "\n" || !scalar.isControlOrBidirectional
            let part = isShown ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
            guard result.utf8.count + part.utf8.count <= limit else { return result + "…" }
            result += part
        }
        return result
    }
}
