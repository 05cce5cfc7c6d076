/// The first page: what there is.
struct DocumentationIndexPage {
    let frame: PageFrame
    let title: String
    let description: String
    let tags: [Reference.Tag]
    let schemas: [Reference.Link]
}

/// What a search has found.
struct DocumentationSearchPage {
    struct Hit {
        let kind: String
        let name: String
        let path: String
        let text: String
    }

    let frame: PageFrame
    let query: String
    let count: String
    let hits: [Hit]
}

/// The operations of a tag.
struct DocumentationTagPage {
    let frame: PageFrame
    let tag: Reference.Tag
}

struct DocumentationOperationPage {
    let frame: PageFrame
    let operation: Reference.Operation
}

struct DocumentationSchemaPage {
    let frame: PageFrame
    let schema: Reference.Schema
}

/// An index of problems or of load errors.
struct DocumentationListPage {
    struct Entry {
        let name: String
        let path: String
        let text: String
        let hint: String
    }

    let frame: PageFrame
    let heading: String
    let description: String
    let entries: [Entry]
}

/// What a problem or a load error means.
struct DocumentationMeaningPage {
    let frame: PageFrame
    let index: String
    let indexPath: String
    let name: String
    let heading: String
    let hint: String
    let cause: String
    let advice: String
    let example: String
    let operations: [Reference.Link]
    let hasOperations: Bool
}
