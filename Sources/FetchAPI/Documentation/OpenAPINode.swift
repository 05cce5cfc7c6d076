import FetchJobs
import Yams

/// A place in an OpenAPI document, with references followed.
struct OpenAPINode {
    private let node: Yams.Node?
    private let root: Yams.Node?
    private let reference: String?

    init(_ node: Yams.Node?, root: Yams.Node?) {
        let root = root ?? node
        self.root = root
        guard let reference = node?.mapping?["$ref"]?.string else {
            self.node = node
            self.reference = nil
            return
        }
        self.reference = reference
        let target = reference.split(separator: "/").dropFirst().reduce(root) { $0?.mapping?[String($1)] }
        self.node = Self.merge(node, into: target)
    }

    /// The target of a reference, overridden by the members beside the reference (OpenAPI 3.1 allows both).
    private static func merge(_ node: Yams.Node?, into target: Yams.Node?) -> Yams.Node? {
        guard let members = node?.mapping, members.count > 1, var result = target?.mapping else { return target }
        for (name, value) in members where name.string != "$ref" { result[name] = value }
        return .mapping(result)
    }

    /// The member with a name.
    ///
    /// Names are strings even where YAML reads them otherwise, as it does `on`.
    subscript(name: String) -> OpenAPINode {
        OpenAPINode(node?.mapping?[Yams.Node(name, Tag(.str))], root: root)
    }

    var members: [(name: String, node: OpenAPINode)] {
        (node?.mapping).map { mapping in
            mapping.map { ($0.key.string ?? "", OpenAPINode($0.value, root: root)) }
        } ?? []
    }

    var elements: [OpenAPINode] { (node?.sequence).map { $0.map { OpenAPINode($0, root: root) } } ?? [] }

    /// A scalar as it was written.
    var text: String? { node?.scalar?.string }

    /// The name of the schema that is referred to, or the type.
    var typeName: String {
        if let reference, let name = reference.split(separator: "/").last { return String(name) }
        if self["type"].text == "array" { return "array of \(self["items"].typeName)" }
        if let type = self["type"].text { return type }
        let types = self["type"].elements.compactMap(\.text).filter { $0 != "null" }
        return types.isEmpty ? "any" : types.joined(separator: " or ")
    }

    /// The value as JSON on one line.
    var json: String {
        if let scalar = node?.scalar {
            let isText = node?.tag.description == Tag.Name.str.rawValue
            return isText ? Self.quoted(scalar.string) : scalar.string
        }
        if node?.mapping != nil {
            return "{" + members.map { "\(Self.quoted($0.name)): \($0.node.json)" }.joined(separator: ", ") + "}"
        }
        return "[" + elements.map(\.json).joined(separator: ", ") + "]"
    }

    private static func quoted(_ text: String) -> String {
        var writer = JSONWriter()
        writer.value(text)
        return writer.text
    }
}
