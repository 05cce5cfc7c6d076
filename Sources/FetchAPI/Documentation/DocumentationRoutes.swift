import HTTPTypes
import Hummingbird
import Synchronization

/// The reference page and the pages that problems lead to.
final class DocumentationRoutes: Sendable {
    private let templates: Templates
    /// Made when it is first asked for, so that starting does not wait for it.
    private let reference = Mutex<String?>(nil)

    init(templates: Templates) { self.templates = templates }

    var routes: [Route] {
        [
            Route(.get, "/docs") { _ in .page(try self.page()) },
            Route(.get, "/docs/problems/{code}", problem),
        ]
    }

    private func page() throws -> String {
        try reference.withLock { reference in
            if let reference { return reference }
            let page = templates.render(.reference, try Reference(document: ServiceRoutes.openAPI))
            reference = page
            return page
        }
    }

    private func problem(_ call: Call) async throws -> Response {
        guard let code = ProblemCode(rawValue: call.parameter) else {
            throw Problem(.notFound, "There is no problem of this name.")
        }
        let page = MessagePage(
            frame: PageFrame(title: code.title),
            heading: "\(code.title) (\(code.status.code) \(code.rawValue))",
            paragraphs: [code.advice]
        )
        return .page(templates.render(.message, page))
    }
}
