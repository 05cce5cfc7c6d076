import FetchJobs

/// What the reference pages show, read from `openapi.yaml`.
struct Reference: Sendable {
    struct Tag: Sendable {
        let name: String
        let path: String
        let description: String
        let operations: [Link]
    }

    struct Link: Sendable {
        /// In code style where it is a method and a path.
        let code: String?
        let text: String
        let path: String
    }

    struct Operation: Sendable {
        let id: String
        let tag: String
        let tagPath: String
        let method: String
        let path: String
        let summary: String
        let description: String
        /// The scope that it asks of a key; nil where it takes no key.
        let scope: String?
        let parameters: [DocumentedMember]
        let hasParameters: Bool
        let body: Content?
        let answers: [Answer]
        let problems: [ProblemAnswer]
        let samples: [Sample]
        let console: Console

        var target: String { "\(method) \(path)" }
    }

    /// What a body holds.
    struct Content: Sendable {
        let description: String
        let types: [String]
        /// Those that no schema with a page has.
        let members: [DocumentedMember]
        let example: String?
    }

    struct Answer: Sendable {
        let status: String
        let content: Content
        let headers: [DocumentedMember]
        let hasHeaders: Bool
    }

    struct ProblemAnswer: Sendable {
        let status: String
        let description: String
        let codes: [Link]
    }

    struct Sample: Sendable {
        let language: String
        /// Whether it is shown at once.
        let isOpen: Bool
        let text: String
    }

    /// What the form asks for that sends a request.
    struct Console: Sendable {
        struct Field: Sendable {
            let place: String
            let name: String
            let value: String
            let isRequired: Bool
        }

        let method: String
        let path: String
        let asksForKey: Bool
        let fields: [Field]
        /// The media type of the body; nil where there is none.
        let mediaType: String?
        /// The body to begin with.
        let text: String?
    }

    struct Schema: Sendable {
        let name: String
        let description: String
        let type: String
        let facts: [String]
        let members: [DocumentedMember]
        let hasMembers: Bool
        let example: String?
        /// The operations that name it, those that have it through others, and those others.
        let operations: [Link]
        let hasOperations: Bool
        let further: [Link]
        let hasFurther: Bool
        let owners: [Link]
        let hasOwners: Bool
    }

    let title: String
    let version: String
    let description: String
    let tags: [Tag]
    let operations: [String: Operation]
    let schemas: [Schema]
    let prose: Prose

    /// - Parameter document: As JSON.
    init(document: String, links: [String: String]) throws {
        let root = try OpenAPINode(document: document)
        let named = root["components"]["schemas"].members
        let found = Self.operations(of: root)
        var links = links
        for (name, _) in named { links[name] = SchemaReader.path(name) }
        for operation in found { links[operation.target] = operation.path }
        prose = Prose(links: links)
        let schemas = SchemaReader(prose: prose, known: Set(named.map(\.name)))
        let reader = OperationReader(schemas: schemas)
        title = root["info"]["title"].text ?? ""
        version = root["info"]["version"].text ?? ""
        description = prose.blocks(root["info"]["description"].text)
        operations = Dictionary(
            uniqueKeysWithValues: found.map { ($0.id, reader.operation($0)) })
        tags = root["tags"].elements.map { [prose] tag in
            let name = tag["name"].text ?? ""
            return Tag(
                name: name, path: Self.path(ofTag: name), description: prose.blocks(tag["description"].text),
                operations: found.filter { $0.tag == name }.map { operation in
                    Link(code: operation.target, text: operation.node["summary"].text ?? "", path: operation.path)
                })
        }
        let uses = SchemaUses(named, found)
        self.schemas = named.map { name, node in uses.schema(name, node, schemas) }
    }

    /// An operation as it is found in the document.
    struct Found {
        let id: String
        let tag: String
        let method: String
        let route: String
        let node: OpenAPINode
        /// The parameters of its path.
        let shared: [OpenAPINode]

        var path: String { "/docs/operations/\(id)" }
        var target: String { "\(method) \(route)" }
    }

    static func path(ofTag name: String) -> String { "/docs/tags/\(name.lowercased())" }

    private static func operations(of root: OpenAPINode) -> [Found] {
        root["paths"].members.flatMap { path, item in
            item.members.filter { $0.name != "parameters" }.map { method, node in
                Found(
                    id: node["operationId"].text ?? "", tag: node["tags"].elements.first?.text ?? "",
                    method: method.uppercased(), route: path, node: node, shared: item["parameters"].elements)
            }
        }
    }
}
