/// Makes descriptions of `openapi.yaml` into markup: paragraphs, lists, `code`, **bold** and *emphasis*.
///
/// Everything else is text and escaped as such, so nothing that a description says becomes an element.
struct Prose: Sendable {
    /// Where words in code style lead to, such as the name of a schema or `GET /v1/queue`.
    var links: [String: String] = [:]

    /// A text with paragraphs and lists, whose lines may be broken anywhere.
    func blocks(_ text: String?) -> String {
        var markup = ""
        var paragraph: [Substring] = []
        var items: [[Substring]] = []
        func end() {
            if !paragraph.isEmpty { markup += "<p>\(line(paragraph.joined(separator: " ")))</p>" }
            if !items.isEmpty {
                let lines = items.map { "<li>\(line($0.joined(separator: " ")))</li>" }
                markup += "<ul>\(lines.joined())</ul>"
            }
            paragraph = []
            items = []
        }
        for raw in (text ?? "").split(separator: "\n", omittingEmptySubsequences: false) {
            let words = raw.trimmingPrefix { $0 == " " }
            if words.isEmpty {
                end()
            } else if words.hasPrefix("- ") {
                if items.isEmpty { end() }
                items.append([words.dropFirst(2)])
            } else if items.isEmpty {
                paragraph.append(words)
            } else {
                items[items.count - 1].append(words)
            }
        }
        end()
        return markup
    }

    /// A text without paragraphs.
    func line(_ text: some StringProtocol) -> String {
        var markup = ""
        var rest = text[...]
        while let mark = rest.firstIndex(where: { $0 == "`" || $0 == "*" }) {
            markup += Self.escaped(rest[..<mark])
            rest = rest[mark...]
            if let (element, end) = element(at: rest) {
                markup += element
                rest = rest[end...]
            } else {
                markup += Self.escaped(rest.prefix(1))
                rest = rest.dropFirst()
            }
        }
        return markup + Self.escaped(rest)
    }

    /// The element that a text begins with, and where it ends; nil when its mark stands for itself.
    private func element<Text: StringProtocol>(at text: Text) -> (String, Text.Index)? {
        for (mark, name) in [("`", "code"), ("**", "strong"), ("*", "em")] where text.hasPrefix(mark) {
            let inside = text.dropFirst(mark.count)
            guard let end = inside.firstRange(of: mark), end.lowerBound > inside.startIndex,
                inside.first?.isWhitespace == false
            else { continue }
            let content = inside[..<end.lowerBound]
            return (name == "code" ? code(content) : "<\(name)>\(line(content))</\(name)>", end.upperBound)
        }
        return nil
    }

    /// A word in code style, which leads to its page when it has one.
    func code(_ word: some StringProtocol) -> String {
        let element = "<code>\(Self.escaped(word))</code>"
        guard let link = links[String(word)] else { return element }
        return "<a href=\"\(Self.escaped(link))\">\(element)</a>"
    }

    static func escaped(_ text: some StringProtocol) -> String { MarkupEscape.escaped(String(text)) }
}
