/// Finds operations, schemas, their members, problems and load errors by words.
struct DocumentationSearch: Sendable {
    /// Characters of a search.
    static let maximumLength = 100
    static let maximumHits = 50

    private struct Entry: Sendable {
        let kind: String
        let name: String
        let path: String
        let text: String
        /// The name in lower case.
        let lowercasedName: String
        /// Name and text in lower case.
        let key: String

        init(_ kind: String, _ name: String, _ path: String, _ text: String) {
            self.kind = kind
            self.name = name
            self.path = path
            self.text = text
            lowercasedName = name.lowercased()
            key = "\(lowercasedName) \(text.lowercased())"
        }
    }

    private let entries: [Entry]

    init(_ reference: Reference) {
        var entries: [Entry] = []
        for operation in reference.operations.values.sorted(by: { $0.id < $1.id }) {
            entries.append(
                Entry(
                    "operation", operation.id, "/docs/operations/\(operation.id)",
                    "\(operation.method) \(operation.path): \(operation.summary)"))
        }
        for schema in reference.schemas {
            let path = SchemaReader.path(schema.name)
            entries.append(Entry("schema", schema.name, path, ""))
            entries += schema.members.map {
                Entry("member", "\(schema.name).\($0.name)", "\(path)#\($0.anchor)", "")
            }
        }
        entries += ProblemCode.allCases.map {
            Entry("problem", $0.rawValue, "/docs/problems/\($0.rawValue)", $0.title)
        }
        entries += LoadErrorPages.all.map { Entry("load error", $0.name, $0.path, "") }
        self.entries = entries
    }

    /// What has all words of a text, the best first; one more than are shown when there are more.
    func hits(for query: String) -> [DocumentationSearchPage.Hit] {
        // The longest first, which the fewest have.
        let text: [Substring] = query.lowercased().split(whereSeparator: \.isWhitespace)
        let words = Set(text).sorted { $0.count > $1.count }
        guard !words.isEmpty else { return [] }
        func rank(_ entry: Entry) -> Int {
            if words.count == 1, entry.lowercasedName == words[0] { return 0 }
            if words.count == 1, entry.lowercasedName.hasSuffix(".\(words[0])") { return 1 }
            return entry.kind == "member" ? 3 : 2
        }
        let found = entries.filter { entry in words.allSatisfy { entry.key.contains($0) } }
        let ranked = Dictionary(grouping: found, by: rank)
        return ranked.sorted { $0.key < $1.key }.flatMap(\.value).prefix(Self.maximumHits + 1).map { entry in
            DocumentationSearchPage.Hit(kind: entry.kind, name: entry.name, path: entry.path, text: entry.text)
        }
    }
}
