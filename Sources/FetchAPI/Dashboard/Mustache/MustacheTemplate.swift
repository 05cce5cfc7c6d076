import FetchJobs

/// A template of Mustache (https://mustache.github.io/mustache.5.html), read once and rendered often.
///
/// It has what our pages use: `{{name}}`, which is escaped for markup, `{{{name}}}`, which is markup already, `{{.}}`,
/// sections (`#`, `^`), partials (`>`), and a template that fills the blocks of another (`<`, `$`). Names may have dots. A
/// line that has nothing but a tag that shows nothing is left out. docs/adr/0019-foundation-essentials.md says why it is our own.
struct MustacheTemplate: Sendable {
    indirect enum Part: Sendable {
        /// Markup as it stands.
        case text(String)
        case value([String], isMarkup: Bool)
        case section([String], [Part], isInverted: Bool)
        /// The template of a name in this place.
        case partial(String)
        /// The template of a name, with parts for its blocks.
        case inheritance(String, [String: [Part]])
        /// What stands in a place that another template may fill.
        case block(String, [Part])
    }

    /// What is wrong with a template.
    struct Fault: Error, CustomStringConvertible {
        let description: String
        /// Counts from 1.
        let line: Int
    }

    let parts: [Part]

    init(_ source: String) throws(Fault) {
        var parser = MustacheParser(source)
        parts = try parser.parts(until: nil)
    }

    /// The templates that it names.
    var partials: Set<String> { Self.partials(of: parts) }

    private static func partials(of parts: [Part]) -> Set<String> {
        parts.reduce(into: []) { names, part in
            switch part {
            case .text, .value: break
            case .section(_, let inner, _), .block(_, let inner): names.formUnion(partials(of: inner))
            case .partial(let name): names.insert(name)
            case .inheritance(let name, let blocks):
                names.insert(name)
                for inner in blocks.values { names.formUnion(partials(of: inner)) }
            }
        }
    }
}

/// Reads a template from its start to its end.
private struct MustacheParser {
    private struct Tag {
        /// The character behind the braces; nil of a value.
        let kind: Character?
        let name: String

        var showsNothing: Bool { kind != nil && kind != "{" }
    }

    private static let kinds: Set<Character> = ["#", "^", "/", ">", "<", "$", "{"]

    private var rest: Substring
    /// Whether nothing but blanks has been read of the line.
    private var isAtLineStart = true
    private var line = 1

    init(_ source: String) { rest = source[...] }

    /// The parts up to the tag that closes what has a name, or up to the end.
    mutating func parts(until name: String?) throws(MustacheTemplate.Fault) -> [MustacheTemplate.Part] {
        var parts: [MustacheTemplate.Part] = []
        while true {
            let text = text()
            guard let tag = try tag(after: text, to: &parts) else {
                guard let name else { return parts }
                throw fault("\(name) is not closed")
            }
            switch tag.kind {
            case "/":
                guard tag.name == name else { throw fault("\(tag.name) is closed and was not the last to be opened") }
                return parts
            case "#", "^":
                parts.append(
                    .section(Self.path(tag.name), try self.parts(until: tag.name), isInverted: tag.kind == "^"))
            case "$": parts.append(.block(tag.name, try self.parts(until: tag.name)))
            case "<":
                var blocks: [String: [MustacheTemplate.Part]] = [:]
                for case .block(let name, let inner) in try self.parts(until: tag.name) { blocks[name] = inner }
                parts.append(.inheritance(tag.name, blocks))
            case ">": parts.append(.partial(tag.name))
            case let kind: parts.append(.value(Self.path(tag.name), isMarkup: kind == "{"))
            }
        }
    }

    private func fault(_ text: String) -> MustacheTemplate.Fault {
        MustacheTemplate.Fault(description: text, line: line)
    }

    /// `.` has no names.
    private static func path(_ name: String) -> [String] { name.split(separator: ".").map { String($0) } }

    /// What stands before the next tag, or before the end.
    private mutating func text() -> Substring {
        let end = rest.firstRange(of: "{{")?.lowerBound ?? rest.endIndex
        defer { rest = rest[end...] }
        return rest[..<end]
    }

    /// The tag that comes next, after the text before it has been added to the parts; nil at the end.
    private mutating func tag(
        after text: Substring, to parts: inout [MustacheTemplate.Part]
    ) throws(MustacheTemplate.Fault) -> Tag? {
        line += text.count { $0.isNewline }
        let blanks = text.lastIndex { !$0.isBlank }.map { text[text.index(after: $0)...] } ?? text
        let before = text[..<blanks.startIndex].last
        let isFirst = before.map { $0.isNewline } ?? isAtLineStart
        guard rest.hasPrefix("{{") else {
            if !text.isEmpty { parts.append(.text(String(text))) }
            return nil
        }
        let tag = try read()
        let after = rest.drop(while: \.isBlank)
        if tag.showsNothing, isFirst, after.first.map({ $0.isNewline }) ?? true {
            // Alone on its line.
            line += after.isEmpty ? 0 : 1
            rest = after.dropFirst()
            isAtLineStart = true
            if blanks.startIndex > text.startIndex { parts.append(.text(String(text[..<blanks.startIndex]))) }
        } else {
            isAtLineStart = false
            if !text.isEmpty { parts.append(.text(String(text))) }
        }
        return tag
    }

    private mutating func read() throws(MustacheTemplate.Fault) -> Tag {
        rest = rest.dropFirst(2)
        let kind = rest.first.flatMap { Self.kinds.contains($0) ? $0 : nil }
        if kind != nil { rest = rest.dropFirst() }
        guard let end = rest.firstRange(of: kind == "{" ? "}}}" : "}}") else { throw fault("a tag does not end") }
        let name = rest[..<end.lowerBound].trimmingWhiteSpace
        guard !name.isEmpty, name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "." }) else {
            throw fault("\(name) is no name")
        }
        rest = rest[end.upperBound...]
        return Tag(kind: kind, name: name)
    }
}

extension Character {
    fileprivate var isBlank: Bool { self == " " || self == "\t" }
}
