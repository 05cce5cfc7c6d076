import Foundation

/// As much of XML as S3's answers need: the texts of elements that hold nothing else.
struct XMLText {
    private let text: String

    init(_ text: String) { self.text = text }

    func texts(of name: String) -> [String] {
        var texts: [String] = []
        var rest = text[...]
        while let open = rest.range(of: "<\(name)>"), let close = rest[open.upperBound...].range(of: "</\(name)>") {
            texts.append(Self.unescaped(rest[open.upperBound..<close.lowerBound]))
            rest = rest[close.upperBound...]
        }
        return texts
    }

    private static func unescaped(_ text: Substring) -> String {
        String(text).replacing("&quot;", with: "\"").replacing("&lt;", with: "<").replacing("&gt;", with: ">")
            .replacing("&apos;", with: "'").replacing("&#34;", with: "\"").replacing("&amp;", with: "&")
    }
}
