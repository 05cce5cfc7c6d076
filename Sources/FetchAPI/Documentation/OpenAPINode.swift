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

    /// Whether there is anything here.
    var exists: Bool { node != nil }

    var members: [(name: String, node: OpenAPINode)] {
        (node?.mapping).map { mapping in
            mapping.map { ($0.key.string ?? "", OpenAPINode($0.value, root: root)) }
        } ?? []
    }

    var elements: [OpenAPINode] { (node?.sequence).map { $0.map { OpenAPINode($0, root: root) } } ?? [] }

    /// A scalar as it was written.
    var text: String? { node?.scalar?.string }

    /// The name of the schema that is referred to; nil of what is written here.
    var component: String? {
        guard let reference, reference.hasPrefix(Self.schemas) else { return nil }
        return String(reference.dropFirst(Self.schemas.count))
    }

    private static let schemas = "#/components/schemas/"

    /// The value as JSON on one line.
    var json: String {
        if let scalar = node?.scalar {
            guard isPlain else { return Self.quoted(scalar.string) }
            return node?.tag.description == Tag.Name.null.rawValue ? "null" : scalar.string
        }
        if node?.mapping != nil {
            return "{" + members.map { "\(Self.quoted($0.name)): \($0.node.json)" }.joined(separator: ", ") + "}"
        }
        return "[" + elements.map(\.json).joined(separator: ", ") + "]"
    }

    /// The value as JSON, as it was written: references are not followed.
    func write(to writer: inout JSONWriter) { Self.write(node, to: &writer) }

    private static func write(_ node: Yams.Node?, to writer: inout JSONWriter) {
        switch node {
        case .mapping(let members):
            writer.object { writer in
                for (name, value) in members {
                    writer.name(name.string ?? "")
                    write(value, to: &writer)
                }
            }
        case .sequence(let elements):
            writer.array { writer in for element in elements { write(element, to: &writer) } }
        default:
            let value = OpenAPINode(node, root: node)
            writer.raw(RawJSON(Array(value.json.utf8)))
        }
    }

    /// Whether a scalar is a number, a truth value or null, and not text.
    ///
    /// YAML reads `on`, `yes` and dates as something else than text too, which JSON does not have.
    private var isPlain: Bool {
        guard let scalar = node?.scalar else { return false }
        switch node?.tag.description {
        case Tag.Name.int.rawValue, Tag.Name.float.rawValue: return true
        case Tag.Name.bool.rawValue: return scalar.string == "true" || scalar.string == "false"
        case Tag.Name.null.rawValue: return true
        default: return false
        }
    }

    static func quoted(_ text: String) -> String { JSONValue.string(text).json }
}
