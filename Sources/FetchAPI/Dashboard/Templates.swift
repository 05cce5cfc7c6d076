/// The pages' templates, read when the server starts.
struct Templates: Sendable {
    enum Page: String, CaseIterable {
        case layout, message
        case signIn, link, welcome
        case overview
        case jobs, bulk, job, newJob
        case questions
        case sheet, table, form, field
        case docs, docsSearch, docsTag, docsOperation, docsSchema, docsList, docsMeaning, docsMembers, docsContent,
            docsFind
    }

    private let templates: [String: MustacheTemplate]

    init() {
        var templates: [String: MustacheTemplate] = [:]
        for page in Page.allCases {
            do {
                let template = try MustacheTemplate(Embedded.files["\(page.rawValue).mustache"] ?? "")
                let unknown = template.partials.filter { Page(rawValue: $0) == nil }
                precondition(unknown.isEmpty, "the template \(page) names others that are not there: \(unknown)")
                templates[page.rawValue] = template
            } catch {
                preconditionFailure("the template \(page) is not valid at line \(error.line): \(error)")
            }
        }
        self.templates = templates
    }

    func render(_ page: Page, _ content: Any) -> String {
        MustacheRenderer.render(page.rawValue, of: templates, content)
    }
}
