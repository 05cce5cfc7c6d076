import Mustache

/// The pages' templates, compiled when the server starts.
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

    private let library: MustacheLibrary

    init() {
        MustacheContentTypes.register(MarkupEscape(), named: MarkupEscape.name)
        var library = MustacheLibrary()
        for page in Page.allCases {
            do {
                try library.register(Embedded.files["\(page.rawValue).mustache"] ?? "", named: page.rawValue)
            } catch {
                preconditionFailure("the template \(page) is not valid: \(error)")
            }
        }
        self.library = library
    }

    func render(_ page: Page, _ content: Any) -> String { library.render(content, withTemplate: page.rawValue) ?? "" }
}
