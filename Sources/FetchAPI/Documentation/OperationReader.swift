import FetchJobs

/// Reads operations of `openapi.yaml` for pages.
struct OperationReader {
    let schemas: SchemaReader

    private var prose: Prose { schemas.prose }

    func operation(_ found: Reference.Found) -> Reference.Operation {
        let node = found.node
        let parameters = found.shared + node["parameters"].elements
        let rows = parameters.map { parameter in
            let (name, place) = (parameter["name"].text ?? "", parameter["in"].text ?? "")
            return schemas.member(
                named: name, parameter["schema"],
                "\(schemas.type(of: parameter["schema"])), in the \(Self.places[place] ?? Prose.escaped(place))",
                isRequired: parameter["required"].text == "true",
                description: parameter["description"].text, anchor: "parameter.\(name)")
        }
        let responses = node["responses"].members
        let sample = sample(found, parameters)
        return Reference.Operation(
            id: found.id, tag: found.tag, tagPath: Reference.path(ofTag: found.tag), method: found.method,
            path: found.route, summary: node["summary"].text ?? "",
            description: prose.blocks(node["description"].text),
            scope: node["security"].elements.first?["apiKey"].elements.first?.text,
            parameters: rows, hasParameters: !rows.isEmpty,
            body: node["requestBody"].exists ? content(node["requestBody"]) : nil,
            answers: responses.filter { !Self.isProblem($0.node) }.map(answer),
            problems: responses.filter { Self.isProblem($0.node) }.map(problem),
            samples: sample.programs.map {
                Reference.Sample(language: $0.language, isOpen: $0.language == "curl", text: $0.text)
            },
            console: console(found, parameters))
    }

    private static let places = ["query": "query", "path": "path", "header": "header section"]

    // MARK: Content

    private func content(_ node: OpenAPINode) -> Reference.Content {
        let media = node["content"].members
        let types = media.map { type, media in
            let lines = media["x-itemSchema"]
            let type = prose.code(type)
            return lines.exists
                ? "\(type): lines of \(schemas.type(of: lines))" : "\(type): \(schemas.type(of: media["schema"]))"
        }
        let inline = media.map(\.node["schema"]).filter { $0.component == nil }
        return Reference.Content(
            description: prose.blocks(node["description"].text), types: types,
            members: inline.flatMap { schemas.nested(in: $0) },
            example: media.first.flatMap { Self.example(of: $0.node) }.map { $0.text ?? $0.pretty() })
    }

    private static func example(of media: OpenAPINode) -> OpenAPINode? {
        let value = media["examples"].members.first?.node["value"] ?? media["example"]
        return value.exists ? value : nil
    }

    private static func isProblem(_ response: OpenAPINode) -> Bool {
        response["content"].members.contains { $0.name == "application/problem+json" }
    }

    private func answer(_ status: String, _ node: OpenAPINode) -> Reference.Answer {
        let headers = node["headers"].members.map { name, header in
            schemas.member(
                named: name, header["schema"], description: header["description"].text,
                anchor: "\(status).header.\(name)")
        }
        return Reference.Answer(
            status: status, content: content(node), headers: headers, hasHeaders: !headers.isEmpty)
    }

    private func problem(_ status: String, _ node: OpenAPINode) -> Reference.ProblemAnswer {
        let examples = node["content"]["application/problem+json"]["examples"].members
        let codes = examples.compactMap { $0.node["value"]["code"].text }
        return Reference.ProblemAnswer(
            status: status, description: prose.line(node["description"].text ?? ""),
            codes: codes.map { Reference.Link(code: $0, text: $0, path: "/docs/problems/\($0)") })
    }

    // MARK: Samples

    private func sample(_ found: Reference.Found, _ parameters: [OpenAPINode]) -> RequestSample {
        let required = parameters.filter { $0["required"].text == "true" }
        var headers: [(name: String, value: String)] = []
        // Programs put the key in place of it.
        if Self.asksForKey(found) { headers.append(("Authorization", "Bearer $FETCHD_KEY")) }
        for parameter in required where parameter["in"].text == "header" {
            headers.append((parameter["name"].text ?? "", Self.value(of: parameter)))
        }
        let media = found.node["requestBody"]["content"].members.first
        if let media { headers.append(("Content-Type", media.name == "*/*" ? "application/octet-stream" : media.name)) }
        let query = required.filter { $0["in"].text == "query" }
            .map { "\($0["name"].text ?? "")=\(Self.value(of: $0).percentEncoded)" }
        let path = Self.path(found.route, required)
        return RequestSample(
            method: found.method, target: query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))",
            headers: headers, body: media.map { Self.body($0.name, $0.node) })
    }

    private static func body(_ type: String, _ media: OpenAPINode) -> RequestSample.Body {
        guard let example = example(of: media) else { return .file }
        return type.hasSuffix("json") && example.text == nil ? .json(example) : .text(example.text ?? example.json)
    }

    private static func asksForKey(_ found: Reference.Found) -> Bool {
        !found.node["security"].elements.isEmpty
    }

    /// The path with the examples of its parameters.
    private static func path(_ template: String, _ parameters: [OpenAPINode]) -> String {
        parameters.filter { $0["in"].text == "path" }.reduce(template) { path, parameter in
            path.replacing("{\(parameter["name"].text ?? "")}", with: value(of: parameter).percentEncoded)
        }
    }

    private static func value(of parameter: OpenAPINode) -> String {
        let schema = parameter["schema"]
        let examples = [parameter["example"], schema["example"]] + schema["examples"].elements
        return (examples.first(where: \.exists) ?? schema["minimum"]).text ?? ""
    }

    private func console(_ found: Reference.Found, _ parameters: [OpenAPINode]) -> Reference.Console {
        let media = found.node["requestBody"]["content"].members.first
        let example = media.flatMap { Self.example(of: $0.node) }.map { $0.text ?? $0.pretty() }
        return Reference.Console(
            method: found.method, path: found.route, asksForKey: Self.asksForKey(found),
            fields: parameters.map { parameter in
                let isRequired = parameter["required"].text == "true"
                return Reference.Console.Field(
                    place: parameter["in"].text ?? "", name: parameter["name"].text ?? "",
                    value: isRequired ? Self.value(of: parameter) : "", isRequired: isRequired)
            },
            mediaType: media.map { $0.name == "*/*" ? "application/octet-stream" : $0.name },
            text: media == nil ? nil : example ?? "")
    }
}
