import FetchEngine

/// A URL with places for values: `https://a.example/users/{user}?q={query}` (RFC 6570, level 1).
///
/// A value stands for itself and nothing else: characters with a meaning in a URL are escaped in it (ENC-2, ENC-4).
struct URLTemplate {
    struct Fault: Error {
        let message: String
    }

    /// No URL is longer; a variable may stand there a thousand times.
    private static let maximumLength = 16 * 1024

    private enum Piece {
        case text(Substring)
        case variable(String)
    }

    private let pieces: [Piece]
    /// The names of the variables.
    let variables: Set<String>

    init(_ text: String) throws(Fault) {
        var pieces: [Piece] = []
        var rest = text[...]
        while let open = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            pieces.append(.text(rest[..<open]))
            guard let match = rest[open...].prefixMatch(of: #/\{([A-Za-z0-9_.]{1,64})\}/#) else {
                throw Fault(message: "must have variables in the form {name} only (RFC 6570, level 1)")
            }
            pieces.append(.variable(String(match.output.1)))
            rest = rest[match.range.upperBound...]
        }
        self.pieces = pieces + [.text(rest)]
        variables = Set(pieces.compactMap { piece in if case .variable(let name) = piece { name } else { nil } })
    }

    /// The URL with a value for each variable.
    func expanded(_ values: [String: String]) throws(Fault) -> String {
        let escaped = values.mapValues(PercentCodec.component)
        let length = pieces.reduce(0) { length, piece in
            switch piece {
            case .text(let text): length + text.utf8.count
            case .variable(let name): length + (escaped[name]?.utf8.count ?? 0)
            }
        }
        guard length <= Self.maximumLength else { throw Fault(message: "becomes a URL that is longer than 16 KiB") }
        let text = text { escaped[$0] ?? "" }
        // Two dots mean another folder, however they are written: a value must not be one of those.
        let plain = self.text { _ in "x" }
        for (segment, before) in zip(Self.segments(text), Self.segments(plain)) where segment != before {
            let dots = segment.replacing(#/%2[Ee]/#, with: ".")
            if dots == "." || dots == ".." {
                throw Fault(message: "becomes a URL with a segment of dots, which would lead elsewhere")
            }
        }
        return text
    }

    private func text(_ value: (String) -> String) -> String {
        pieces.map { piece in
            switch piece {
            case .text(let text): String(text)
            case .variable(let name): value(name)
            }
        }.joined()
    }

    private static func segments(_ text: String) -> [Substring] {
        text.prefix { $0 != "?" && $0 != "#" }.split(separator: "/", omittingEmptySubsequences: false)
    }
}

extension JobRequest {
    /// The URL of a request: as it is given, or as its template and variables make it.
    static func url(_ object: JSONObjectReader) -> URLRecord? {
        guard let reader = object["urlTemplate"] else {
            object["variables"]?.refuse("is for a urlTemplate")
            return object.required("url").flatMap { $0.jobURL() }
        }
        object["url"]?.refuse("cannot be had beside a urlTemplate")
        guard let text = reader.string(maximumLength: 16_384) else { return nil }
        do throws(URLTemplate.Fault) {
            let template = try URLTemplate(text)
            guard let values = values(of: template, object) else { return nil }
            return reader.jobURL(try template.expanded(values))
        } catch {
            reader.refuse(error.message)
            return nil
        }
    }

    private static func values(of template: URLTemplate, _ object: JSONObjectReader) -> [String: String]? {
        var values: [String: String] = [:]
        for (name, reader) in object["variables"]?.dictionary() ?? [] {
            if !template.variables.contains(name) { reader.refuse("is not in the urlTemplate") }
            values[name] = reader.string(maximumLength: 8192)
        }
        let missing = template.variables.subtracting(values.keys).sorted()
        for name in missing { object.check.refuse("/request/variables/\(name)", "is required by the urlTemplate") }
        return missing.isEmpty ? values : nil
    }
}
