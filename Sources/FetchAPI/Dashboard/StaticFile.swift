import FetchJobs
import HTTPTypes
import Hummingbird

/// A file that pages load: the same for everyone, and asked for again only when it has changed.
struct StaticFile: Sendable {
    /// All of them, by the name they are embedded under.
    static let all = [
        StaticFile("style.css", type: "text/css; charset=utf-8"),
        StaticFile("app.js", type: "text/javascript; charset=utf-8"),
        StaticFile("link.js", type: "text/javascript; charset=utf-8"),
    ]

    let path: String
    private let response: Response
    private let tag: String

    private init(_ name: String, type: String) {
        let text = Embedded.files[name] ?? ""
        path = "/dashboard/\(name)"
        tag = SHA256Digest(of: Array(text.utf8)).tag
        var response = Response.text(text, type: type)
        response.headers[.eTag] = tag
        // A page of a newer release never meets the file of an older one.
        response.headers[.cacheControl] = "public, no-cache"
        response.headers[.crossOriginResourcePolicy] = "same-origin"
        self.response = response
    }

    var route: Route {
        Route(.get, path) { call in
            _ = try call.query()
            guard let tags = call.headers[.ifNoneMatch], Representation.matches(tags, tag) else { return response }
            var headers = response.headers
            headers[.contentType] = nil
            return Response(status: .notModified, headers: headers)
        }
    }
}
