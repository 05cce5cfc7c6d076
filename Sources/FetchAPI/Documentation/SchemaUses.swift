/// Where the schemas of `openapi.yaml` are used.
struct SchemaUses {
    /// The schemas that name a schema, and the operations that do.
    private var owners: [String: [String]] = [:]
    private var operations: [String: [Reference.Found]] = [:]

    init(_ schemas: [(name: String, node: OpenAPINode)], _ found: [Reference.Found]) {
        let known = Set(schemas.map(\.name))
        for (name, node) in schemas {
            for used in Self.names(in: node, known) where used != name { owners[used, default: []].append(name) }
        }
        for operation in found {
            let names = operation.shared.reduce(into: Self.names(in: operation.node, known)) { names, parameter in
                names.formUnion(Self.names(in: parameter, known))
            }
            for used in names { operations[used, default: []].append(operation) }
        }
    }

    /// The schemas that are named in a place; what those name is not looked for.
    private static func names(in node: OpenAPINode, _ known: Set<String>) -> Set<String> {
        var names: Set<String> = []
        func look(_ node: OpenAPINode) {
            for (name, child) in node.members where name != "examples" && name != "example" { found(child) }
            for child in node.elements { found(child) }
        }
        func found(_ node: OpenAPINode) {
            if let name = node.component, known.contains(name) { names.insert(name) } else { look(node) }
        }
        look(node)
        return names
    }

    func schema(_ name: String, _ node: OpenAPINode, _ reader: SchemaReader) -> Reference.Schema {
        let direct = operations[name] ?? []
        let owners = owners[name] ?? []
        let further = further(from: name).filter { operation in !direct.contains { $0.id == operation.id } }
        let members = reader.nested(in: node)
        let example = node["examples"].elements.first ?? node["example"]
        return Reference.Schema(
            name: name, description: reader.prose.blocks(node["description"].text), type: reader.type(of: node),
            facts: reader.facts(of: node), members: members, hasMembers: !members.isEmpty,
            example: example.exists ? example.pretty() : nil,
            operations: direct.map(Self.link), hasOperations: !direct.isEmpty,
            further: further.map(Self.link), hasFurther: !further.isEmpty,
            owners: owners.map { Reference.Link(code: $0, text: $0, path: SchemaReader.path($0)) },
            hasOwners: !owners.isEmpty)
    }

    private static func link(_ operation: Reference.Found) -> Reference.Link {
        Reference.Link(code: operation.target, text: operation.node["summary"].text ?? "", path: operation.path)
    }

    /// The operations that have a schema through others.
    private func further(from name: String) -> [Reference.Found] {
        var (seen, waiting, found) = (Set([name]), [name], [Reference.Found]())
        while let next = waiting.popLast() {
            for owner in owners[next] ?? [] where seen.insert(owner).inserted {
                waiting.append(owner)
                for operation in operations[owner] ?? [] where !found.contains(where: { $0.id == operation.id }) {
                    found.append(operation)
                }
            }
        }
        return found
    }
}
