import FetchJobs

/// A place in an OpenAPI document, with references followed.
struct OpenAPINode {
    private let node: JSONValue?
    private let root: JSONValue?
    private let reference: String?

    /// The whole of a document, given as JSON.
    init(document: String) throws { self.init(try JSONParser.parse(Array(document.utf8)), root: nil) }

    private init(_ node: JSONValue?, root: JSONValue?) {
        let root = root ?? node
        self.root = root
        guard let reference = node?.member("$ref")?.text else {
            self.node = node
            self.reference = nil
            return
        }
        self.reference = reference
        let target = reference.split(separator: "/").dropFirst().reduce(root) { $0?.member(String($1)) }
        self.node = Self.merge(node, into: target)
    }

    /// The target of a reference, overridden by the members beside the reference (OpenAPI 3.1 allows both).
    private static func merge(_ node: JSONValue?, into target: JSONValue?) -> JSONValue? {
        guard case .object(let members) = node, members.count > 1, case .object(var result) = target else {
            return target
        }
        for member in members where member.name != "$ref" {
            if let index = result.firstIndex(where: { $0.name == member.name }) {
                result[index] = member
            } else {
                result.append(member)
            }
        }
        return .object(result)
    }

    /// The member with a name.
    subscript(name: String) -> OpenAPINode { OpenAPINode(node?.member(name), root: root) }

    /// Whether there is anything here.
    var exists: Bool { node != nil }

    var members: [(name: String, node: OpenAPINode)] {
        guard case .object(let members) = node else { return [] }
        return members.map { ($0.name, OpenAPINode($0.value, root: root)) }
    }

    var elements: [OpenAPINode] { (node?.elements ?? []).map { OpenAPINode($0, root: root) } }

    /// A scalar as it was written.
    var text: String? {
        switch node {
        case .string(let text): text
        case .number(let number): number.text
        case .bool(let value): value ? "true" : "false"
        case .null: "null"
        case .array, .object, nil: nil
        }
    }

    /// The name of the schema that is referred to; nil of what is written here.
    var component: String? {
        guard let reference, reference.hasPrefix(Self.schemas) else { return nil }
        return String(reference.dropFirst(Self.schemas.count))
    }

    private static let schemas = "#/components/schemas/"

    /// The value as JSON on one line.
    var json: String {
        switch node {
        case .object: "{" + members.map { "\(Self.quoted($0.name)): \($0.node.json)" }.joined(separator: ", ") + "}"
        case .array, nil: "[" + elements.map(\.json).joined(separator: ", ") + "]"
        case .some(let scalar): scalar.json
        }
    }

    static func quoted(_ text: String) -> String { JSONValue.string(text).json }
}
