import Yams

/// The reference page's content, read from `openapi.yaml`.
struct Reference {
    struct Operation {
        let id: String
        let method: String
        let path: String
        let summary: String
        let paragraphs: [String]
        let parameters: [Fact]
        let hasParameters: Bool
        /// The media types of the body and what they hold.
        let request: String?
        let example: String?
        let responses: [Fact]
    }

    struct Schema {
        let name: String
        let paragraphs: [String]
        let members: [Fact]
    }

    let frame: PageFrame
    let title: String
    let paragraphs: [String]
    let operations: [Operation]
    let schemas: [Schema]

    init(document: String) throws {
        let root = OpenAPINode(try Yams.compose(yaml: document), root: nil)
        frame = PageFrame(title: "API reference")
        title = root["info"]["title"].text ?? ""
        paragraphs = Self.paragraphs(root["info"])
        operations = root["paths"].members.flatMap { path, item in
            let shared = item["parameters"].elements
            return item.members.filter { $0.name != "parameters" }
                .map { Self.operation($0.node, method: $0.name, path: path, shared: shared) }
        }
        schemas = root["components"]["schemas"].members.map { name, node in
            Schema(name: name, paragraphs: Self.paragraphs(node), members: Self.members(node))
        }
    }

    private static func operation(
        _ node: OpenAPINode,
        method: String,
        path: String,
        shared: [OpenAPINode]
    ) -> Operation {
        let parameters = (shared + node["parameters"].elements).map { parameter in
            Fact(
                name: "\(parameter["name"].text ?? "") (\(parameter["in"].text ?? ""))",
                value: [parameter["description"].text ?? "", rules(of: parameter["schema"])].joined(separator: " ")
            )
        }
        let body = node["requestBody"]["content"].members.map { "\($0.name): \($0.node["schema"].typeName)" }
        let example = node["requestBody"]["content"].members.first?.node["examples"].members.first?.node["value"]
        return Operation(
            id: node["operationId"].text ?? "",
            method: method.uppercased(),
            path: path,
            summary: node["summary"].text ?? "",
            paragraphs: paragraphs(node),
            parameters: parameters,
            hasParameters: !parameters.isEmpty,
            request: body.isEmpty ? nil : body.joined(separator: ", "),
            example: example.map { $0.text ?? $0.json },
            responses: node["responses"].members.map { Fact(name: $0.name, value: response($0.node)) }
        )
    }

    private static func response(_ node: OpenAPINode) -> String {
        let content = node["content"].members.map { "\($0.name): \($0.node["schema"].typeName)" }
        return ([node["description"].text ?? ""] + content).joined(separator: " — ")
    }

    private static func members(_ schema: OpenAPINode) -> [Fact] {
        let required = Set(schema["required"].elements.compactMap(\.text))
        return schema["properties"].members.map { name, member in
            let need = required.contains(name) ? ", required" : ""
            let description = member["description"].text.map { " — \($0)" } ?? ""
            return Fact(name: name, value: "\(member.typeName)\(need)\(description) \(rules(of: member))")
        }
    }

    /// The limits of a schema, in words.
    private static func rules(of schema: OpenAPINode) -> String {
        let names = [
            "enum", "default", "minimum", "maximum", "minLength", "maxLength", "maxItems", "maxProperties",
        ]
        let rules = names.compactMap { name -> String? in
            let rule = schema[name]
            if let text = rule.text { return "\(name) \(text)" }
            let values = rule.elements.compactMap(\.text)
            return values.isEmpty ? nil : values.joined(separator: " | ")
        }
        return rules.isEmpty ? "" : "(\(rules.joined(separator: ", ")))"
    }

    /// A description as plain paragraphs: its marks are for machines and are taken away.
    private static func paragraphs(_ node: OpenAPINode) -> [String] {
        (node["description"].text ?? "").split(separator: "\n\n").map { paragraph in
            paragraph.split(separator: "\n").joined(separator: " ").replacing("**", with: "").replacing("`", with: "")
        }
    }
}
