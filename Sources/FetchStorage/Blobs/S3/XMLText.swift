/// As much of XML as S3's answers need: the texts of elements that hold nothing else.
struct XMLText {
    private let bytes: [UInt8]

    init(_ text: String) { bytes = Array(text.utf8) }

    /// The texts of all elements of a name, in their order.
    ///
    /// By bytes and from mark to mark: to search a text again and again is to copy the rest of it each time.
    func texts(of name: String) -> [String] {
        let (open, close) = (Array("<\(name)>".utf8), Array("</\(name)>".utf8))
        var texts: [String] = []
        var start: Int?
        for place in bytes.indices where bytes[place] == UInt8(ascii: "<") {
            let rest = bytes[place...]
            if let begun = start {
                guard rest.starts(with: close) else { continue }
                texts.append(Self.unescaped(String(decoding: bytes[begun..<place], as: UTF8.self)))
                start = nil
            } else if rest.starts(with: open) {
                start = place + open.count
            }
        }
        return texts
    }

    private static func unescaped(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
        return text.replacing("&quot;", with: "\"").replacing("&lt;", with: "<").replacing("&gt;", with: ">")
            .replacing("&apos;", with: "'").replacing("&#34;", with: "\"").replacing("&amp;", with: "&")
    }
}
