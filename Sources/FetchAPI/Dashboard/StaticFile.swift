import HTTPTypes

/// A file that pages load.
struct StaticFile: Sendable {
    /// All of them, by the name they are embedded under.
    static let all = [
        StaticFile("style.css", type: "text/css; charset=utf-8"),
        StaticFile("app.js", type: "text/javascript; charset=utf-8"),
        StaticFile("link.js", type: "text/javascript; charset=utf-8"),
    ]

    let path: String
    private let document: Document

    private init(_ name: String, type: String) {
        path = "/dashboard/\(name)"
        document = Document(Embedded.files[name] ?? "", type: type)
    }

    var route: Route {
        Route(.get, path) { call in
            _ = try call.query()
            return document.response(to: call)
        }
    }
}
