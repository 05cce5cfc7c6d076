@testable import FetchAPI

// Values that keep to a schema.

extension OpenAPINode {
    /// The schema itself, where it is given as the only part of an `allOf`.
    var whole: OpenAPINode {
        let parts = self["allOf"].elements
        return parts.count == 1 && self["properties"].members.isEmpty ? parts[0].whole : self
    }

    var types: [String] { ([self["type"].text] + self["type"].elements.map(\.text)).compactMap(\.self) }

    var isClosed: Bool {
        self["additionalProperties"].text == "false" || self["unevaluatedProperties"].text == "false"
    }

    /// A value that keeps to the schema, as far as it goes without looking at patterns.
    var sample: String {
        let schema = whole
        if let example = schema["examples"].elements.first { return example.json }
        if let choice = schema["enum"].elements.first { return choice.json }
        if let form = schema["oneOf"].elements.last(where: { $0.whole.types != ["null"] }) { return form.sample }
        switch schema.types.first {
        case "object": return schema.object(without: nil)
        case "array": return schema["minItems"].text == "1" ? "[\(schema["items"].sample)]" : "[]"
        case "integer", "number": return schema["minimum"].text ?? "1"
        case "boolean": return "true"
        default: break
        }
        switch (schema["format"].text, schema["pattern"].text) {
        case ("date-time", _): return #""2099-01-01T00:00:00Z""#
        case ("uri", _): return #""https://a.example/""#
        case (_, let pattern?):
            if let prefix = pattern.firstMatch(of: #/\b([a-z]{3})_/#)?.output.1 {
                return "\"\(prefix)_0\(String(repeating: "0", count: 25))\""
            }
            return #""x""#
        default: return #""x""#
        }
    }

    /// An object with a value for one member, and samples of those that must be beside it.
    func object(with name: String, _ value: String) -> String {
        let members = required(with: name).filter { $0 != name }.map { "\"\($0)\": \(self["properties"][$0].sample)" }
        return "{" + (members + ["\"\(name)\": \(value)"]).joined(separator: ", ") + "}"
    }

    func object(without name: String?) -> String {
        let members = required(with: nil).filter { $0 != name }.map { "\"\($0)\": \(self["properties"][$0].sample)" }
        return "{" + members.joined(separator: ", ") + "}"
    }

    private func required(with name: String?) -> [String] {
        let always = self["required"].elements.compactMap(\.text)
        let choices = self["then"]["oneOf"].elements.map { $0["required"].elements.compactMap(\.text) }
        let choice = choices.first { name.map($0.contains) ?? true } ?? (name == nil ? nil : choices.first)
        let needed = name.map { self["dependentRequired"][$0].elements.compactMap(\.text) } ?? []
        return always + (choice ?? []).filter { !always.contains($0) } + needed
    }
}
