/// A member of a schema, a parameter or a header field, as a page shows it.
struct DocumentedMember: Sendable {
    /// Its place on the page.
    let anchor: String
    /// Its name, with those of the members that it is in: `redirects.policy`, `parts[].text`.
    let name: String
    /// Its type as markup.
    let type: String
    let isRequired: Bool
    /// Its default, range, pattern and the like, as markup.
    let facts: [String]
    let hasFacts: Bool
    /// Its description as markup.
    let description: String
}

/// Reads schemas of `openapi.yaml` for pages.
struct SchemaReader {
    let prose: Prose
    /// The schemas that have a page.
    let known: Set<String>

    static func path(_ schema: String) -> String { "/docs/schemas/\(schema)" }

    // MARK: Members

    /// All members of a schema, those of the objects within it too; a schema that has a name is only referred to.
    func members(of schema: OpenAPINode, at path: String = "") -> [DocumentedMember] {
        var rows: [DocumentedMember] = []
        let required = Set(schema["required"].elements.compactMap(\.text))
        for part in schema["allOf"].elements {
            if part.component == nil {
                rows += members(of: part, at: path)
            } else if schema["allOf"].elements.count > 1 {
                rows.append(member(named: path.isEmpty ? "…" : "\(path).…", part, "the members of \(type(of: part))"))
            }
        }
        for (name, member) in schema["properties"].members {
            let place = path.isEmpty ? name : "\(path).\(name)"
            rows.append(self.member(named: place, member, isRequired: required.contains(name)))
            rows += nested(in: member, at: place)
        }
        let others = schema["additionalProperties"]
        if !others.members.isEmpty {
            let place = path.isEmpty ? "{name}" : "\(path).{name}"
            rows.append(member(named: place, others))
            rows += nested(in: others, at: place)
        }
        for alternative in schema["oneOf"].elements + schema["anyOf"].elements where alternative.component == nil {
            rows += nested(in: alternative, at: path)
        }
        return rows
    }

    /// The same, and those of the elements of a list; none of a schema that is only referred to.
    func nested(in schema: OpenAPINode, at path: String = "") -> [DocumentedMember] {
        guard schema.component == nil else { return [] }
        let items = schema["items"]
        return members(of: schema, at: path) + (items.exists ? nested(in: items, at: path + "[]") : [])
    }

    /// - Parameter type: The type in place of the one that the schema says.
    func member(
        named name: String, _ schema: OpenAPINode, _ type: String? = nil, isRequired: Bool = false,
        description: String? = nil, anchor: String? = nil
    ) -> DocumentedMember {
        let facts = facts(of: schema)
        return DocumentedMember(
            anchor: anchor ?? name, name: name, type: type ?? self.type(of: schema), isRequired: isRequired,
            facts: facts, hasFacts: !facts.isEmpty,
            description: prose.blocks(description ?? schema["description"].text))
    }

    // MARK: Types

    /// The type in words, with links to the pages of schemas.
    func type(of schema: OpenAPINode) -> String {
        if let name = schema.component, known.contains(name) { return "<a href=\"\(Self.path(name))\">\(name)</a>" }
        let parts = schema["allOf"].elements
        if !parts.isEmpty, schema["properties"].members.isEmpty {
            return parts.map { type(of: $0) }.joined(separator: " and ")
        }
        let alternatives = schema["oneOf"].elements + schema["anyOf"].elements.filter { $0["type"].exists }
        if !alternatives.isEmpty { return distinct(alternatives.map { type(of: $0) }).joined(separator: " or ") }
        if let value = schema["const"].written { return prose.code(value) }
        var types = [schema["type"].text].compactMap(\.self) + schema["type"].elements.compactMap(\.text)
        if types.isEmpty, schema["enum"].exists { types = ["string"] }
        return types.isEmpty ? "any" : types.map { plain($0, schema) }.joined(separator: " or ")
    }

    private func plain(_ type: String, _ schema: OpenAPINode) -> String {
        let others = schema["additionalProperties"]
        switch type {
        case "array": return "array of \(self.type(of: schema["items"]))"
        case "object" where schema["properties"].members.isEmpty && !others.members.isEmpty:
            return "map to \(self.type(of: others))"
        default: return Prose.escaped(type)
        }
    }

    private func distinct(_ texts: [String]) -> [String] {
        texts.enumerated().filter { texts.firstIndex(of: $0.element) == $0.offset }.map(\.element)
    }

    // MARK: Rules

    /// What a value may be, beyond its type, as markup.
    func facts(of schema: OpenAPINode) -> [String] {
        // What the page of a schema says is not said again wherever it is used.
        guard schema.component.map({ !known.contains($0) }) ?? true else { return value("default", of: schema) }
        var facts = value("default", of: schema)
        let choices = schema["enum"].elements.map { prose.code($0.text ?? $0.json) }
        if !choices.isEmpty { facts.append("one of \(choices.joined(separator: " "))") }
        if let range = range(of: schema, "minimum", "maximum") { facts.append(range) }
        for (lowest, highest, unit) in Self.counts {
            if let range = range(of: schema, lowest, highest) { facts.append("\(range) \(unit)") }
        }
        if let format = schema["format"].text { facts.append("format \(prose.code(format))") }
        if let coding = schema["contentEncoding"].text { facts.append("encoded in \(prose.code(coding))") }
        if let pattern = schema["pattern"].text { facts.append("pattern \(prose.code(pattern))") }
        if schema["uniqueItems"].text == "true" { facts.append("no element twice") }
        if schema["writeOnly"].text == "true" { facts.append("never shown again") }
        facts += combinations(of: schema)
        for name in ["items", "propertyNames"] where schema[name].exists && schema[name].component == nil {
            let word = name == "propertyNames" ? "each name" : "each"
            // What has members has rows of its own.
            facts += self.facts(of: schema[name]).map { "\(word): \($0)" }
        }
        for part in schema["oneOf"].elements + schema["allOf"].elements where part.component == nil {
            facts += self.facts(of: part)
        }
        let examples = schema["examples"].elements + [schema["example"]].filter(\.exists)
        if let example = examples.first { facts.append("for example \(prose.code(example.text ?? example.json))") }
        return facts
    }

    private static let counts = [
        ("minLength", "maxLength", "characters"), ("minItems", "maxItems", "elements"),
        ("minProperties", "maxProperties", "members"),
    ]

    private func value(_ name: String, of schema: OpenAPINode) -> [String] {
        schema[name].written.map { ["\(name) \(prose.code($0))"] } ?? []
    }

    private func range(of schema: OpenAPINode, _ lowest: String, _ highest: String) -> String? {
        switch (schema[lowest].text, schema[highest].text) {
        case (nil, nil): nil
        case (let lowest?, nil): "at least \(lowest)"
        case (nil, let highest?): "at most \(highest)"
        case (let lowest?, let highest?): lowest == highest ? "exactly \(lowest)" : "\(lowest) to \(highest)"
        }
    }

    /// Which members go together.
    private func combinations(of schema: OpenAPINode) -> [String] {
        func sets(_ node: OpenAPINode) -> [String] {
            node.elements.map { list($0["required"]) }.filter { !$0.isEmpty }
        }
        var facts: [String] = []
        let one = sets(schema["then"]["oneOf"])
        if !one.isEmpty { facts.append("exactly one of: \(one.joined(separator: "; "))") }
        let any = sets(schema["anyOf"])
        if !any.isEmpty { facts.append("at least one of: \(any.joined(separator: "; "))") }
        facts += schema["dependentRequired"].members.map { "\(prose.code($0.name)) only with \(list($0.node))" }
        let never = list(schema["not"]["required"])
        if !never.isEmpty { facts.append("not together: \(never)") }
        return facts
    }

    private func list(_ names: OpenAPINode) -> String {
        names.elements.compactMap(\.text).map { prose.code($0) }.joined(separator: " and ")
    }
}

extension OpenAPINode {
    /// The value as JSON; nil where there is none.
    fileprivate var written: String? { exists ? json : nil }
}
