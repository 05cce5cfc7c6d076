import Crypto
import FetchJobs
import HTTPTypes
import Hummingbird
import NIOPosix
import Synchronization

/// The reference pages, and the pages that problems and load errors lead to.
final class DocumentationRoutes: Sendable {
    private let templates: Templates
    /// Made when it is first asked for, so that starting does not wait for it; the same for all servers of a process.
    private static let known = Mutex<Contents?>(nil)

    private struct Contents: Sendable {
        let reference: Reference
        let search: DocumentationSearch
    }

    init(templates: Templates) { self.templates = templates }

    var routes: [Route] {
        [
            Route(.get, "/docs", index),
            Route(.get, "/docs/docs.js") { Self.script.response(to: $0) },
            Route(.get, "/docs/tags/{tag}", tag),
            Route(.get, "/docs/operations/{operationId}", operation),
            Route(.get, "/docs/schemas/{schema}", schema),
            Route(.get, "/docs/problems", problems),
            Route(.get, "/docs/problems/{code}", problem),
            Route(.get, "/docs/errors", errors),
            Route(.get, "/docs/errors/{name}", error),
            Route(.get, "/openapi.yaml") { call in
                _ = try call.query()
                return Self.yaml.response(to: call)
            },
            Route(.get, "/openapi.json") { call in
                _ = try call.query()
                return Self.json.response(to: call)
            },
        ]
    }

    private static let script = Document(Embedded.files["docs.js"] ?? "", type: "text/javascript; charset=utf-8")
    private static let yaml = Document(Embedded.files["openapi.yaml"] ?? "", type: "application/yaml")
    private static let json = Document(ServiceRoutes.openAPI, type: "application/json")

    // MARK: Contents

    /// The reference, which is read on a thread that may be kept busy.
    private func contents() async throws -> Contents {
        if let contents = Self.known.withLock({ $0 }) { return contents }
        return try await NIOThreadPool.singleton.runIfActive {
            try Self.known.withLock { known in
                if let known { return known }
                let reference = try Reference(document: ServiceRoutes.openAPI, links: Self.links)
                let contents = Contents(reference: reference, search: DocumentationSearch(reference))
                known = contents
                return contents
            }
        }
    }

    /// Where words in code style lead to, besides schemas and operations.
    private static let links: [String: String] = {
        let errors = LoadErrorPages.all.map { ($0.name, $0.path) }
        let problems = ProblemCode.allCases.map { ($0.rawValue, "/docs/problems/\($0.rawValue)") }
        // The answer of the service is what clients see first.
        return Dictionary(errors + problems) { _, problem in problem }
    }()

    private func page(_ template: Templates.Page, _ content: Any, _ call: Call) -> Response {
        Document(
            templates.render(template, content), type: "text/html; charset=utf-8", policy: PagePolicy.text
        ).response(to: call)
    }

    // MARK: Pages

    private func index(_ call: Call) async throws -> Response {
        let query = try call.query(allowing: ["q"]).text("q", maximumLength: DocumentationSearch.maximumLength)
        let contents = try await contents()
        let reference = contents.reference
        if let query, !query.allSatisfy(\.isWhitespace) { return search(for: query, contents.search, call) }
        let content = DocumentationIndexPage(
            frame: PageFrame(title: "API reference"), title: reference.title, description: reference.description,
            tags: reference.tags,
            schemas: reference.schemas.map {
                Reference.Link(code: nil, text: $0.name, path: SchemaReader.path($0.name))
            })
        return page(.docs, content, call)
    }

    private func search(for query: String, _ search: DocumentationSearch, _ call: Call) -> Response {
        let hits = search.hits(for: query)
        let shown = Array(hits.prefix(DocumentationSearch.maximumHits))
        let content = DocumentationSearchPage(
            frame: PageFrame(title: "Search in the API reference"), query: query,
            count: hits.count > shown.count ? "The first \(shown.count) results" : "\(shown.count) results",
            hits: shown)
        return page(.docsSearch, content, call)
    }

    private func tag(_ call: Call) async throws -> Response {
        _ = try call.query()
        let path = Reference.path(ofTag: call.parameter)
        guard let tag = try await contents().reference.tags.first(where: { $0.path == path }) else {
            throw Problem(.notFound, "There is no tag of this name.")
        }
        let content = DocumentationTagPage(frame: PageFrame(title: "\(tag.name) · API reference"), tag: tag)
        return page(.docsTag, content, call)
    }

    private func operation(_ call: Call) async throws -> Response {
        _ = try call.query()
        guard let operation = try await contents().reference.operations[call.parameter] else {
            throw Problem(.notFound, "There is no operation of this id.")
        }
        let content = DocumentationOperationPage(
            frame: PageFrame(title: "\(operation.id) · API reference"), operation: operation)
        return page(.docsOperation, content, call)
    }

    private func schema(_ call: Call) async throws -> Response {
        _ = try call.query()
        guard let schema = try await contents().reference.schemas.first(where: { $0.name == call.parameter }) else {
            throw Problem(.notFound, "There is no schema of this name.")
        }
        let content = DocumentationSchemaPage(
            frame: PageFrame(title: "\(schema.name) · API reference"), schema: schema)
        return page(.docsSchema, content, call)
    }

    // MARK: Problems and errors

    private func problems(_ call: Call) async throws -> Response {
        _ = try call.query()
        let content = DocumentationListPage(
            frame: PageFrame(title: "Problems"), heading: "Problems",
            description: "What a refused request is answered with: `code` of a problem document, by its status.",
            prose: try await contents().reference.prose,
            entries: ProblemCode.allCases.sorted { $0.status.code < $1.status.code }.map { code in
                DocumentationListPage.Entry(
                    name: code.rawValue, path: "/docs/problems/\(code.rawValue)", text: code.title,
                    hint: String(code.status.code))
            })
        return page(.docsList, content, call)
    }

    private func problem(_ call: Call) async throws -> Response {
        _ = try call.query()
        guard let code = ProblemCode(rawValue: call.parameter) else {
            throw Problem(.notFound, "There is no problem of this name.")
        }
        let reference = try await contents().reference
        let operations = reference.operations.values.filter { operation in
            operation.problems.contains { $0.codes.contains { $0.text == code.rawValue } }
        }
        let content = DocumentationMeaningPage(
            frame: PageFrame(title: code.title), index: "Problems", indexPath: "/docs/problems", name: code.rawValue,
            heading: code.title, hint: "\(code.status.code) \(code.status.reasonPhrase)",
            cause: reference.prose.blocks(code.cause), advice: reference.prose.blocks(code.advice),
            example: code.example, operations: operations)
        return page(.docsMeaning, content, call)
    }

    private func errors(_ call: Call) async throws -> Response {
        _ = try call.query()
        let content = DocumentationListPage(
            frame: PageFrame(title: "Load errors"), heading: "Load errors",
            description: """
                Why a job has failed: `error.name` of a job and `error` of its attempts. A response of the origin, with \
                any status, is no error.
                """,
            prose: try await contents().reference.prose,
            entries: LoadErrorPages.all.map { error in
                DocumentationListPage.Entry(
                    name: error.name, path: error.path, text: error.hint, hint: "\(error.number)")
            })
        return page(.docsList, content, call)
    }

    private func error(_ call: Call) async throws -> Response {
        _ = try call.query()
        guard let error = LoadErrorPages.all.first(where: { $0.name == call.parameter }),
            let guide = LoadErrorGuide.of(error.name)
        else { throw Problem(.notFound, "There is no load error of this name.") }
        let prose = try await contents().reference.prose
        let content = DocumentationMeaningPage(
            frame: PageFrame(title: "The load error \(error.name)"), index: "Load errors", indexPath: "/docs/errors",
            name: error.name, heading: error.name, hint: "NSURLErrorDomain \(error.number), \(error.hint)",
            cause: prose.blocks(guide.cause), advice: prose.blocks(guide.advice), example: error.example,
            operations: [])
        return page(.docsMeaning, content, call)
    }
}

extension DocumentationListPage {
    fileprivate init(frame: PageFrame, heading: String, description: String, prose: Prose, entries: [Entry]) {
        self.init(frame: frame, heading: heading, description: prose.blocks(description), entries: entries)
    }
}

extension DocumentationMeaningPage {
    fileprivate init(
        frame: PageFrame, index: String, indexPath: String, name: String, heading: String, hint: String,
        cause: String, advice: String, example: String, operations: [Reference.Operation]
    ) {
        let links = operations.sorted { $0.id < $1.id }.map {
            Reference.Link(code: $0.target, text: $0.summary, path: "/docs/operations/\($0.id)")
        }
        self.init(
            frame: frame, index: index, indexPath: indexPath, name: name, heading: heading, hint: hint, cause: cause,
            advice: advice, example: example, operations: links, hasOperations: !links.isEmpty)
    }
}

extension ProblemCode {
    /// A problem document of this kind.
    fileprivate var example: String {
        """
        HTTP/1.1 \(status.code) \(status.reasonPhrase)
        Content-Type: \(Problem.contentType)

        {
          "type": "/docs/problems/\(rawValue)",
          "title": "\(title)",
          "status": \(status.code),
          "detail": "…",
          "instance": "urn:request:01jd3v8m5qf0t8n4r6w2y9bcde",
          "code": "\(rawValue)"
        }
        """
    }
}
