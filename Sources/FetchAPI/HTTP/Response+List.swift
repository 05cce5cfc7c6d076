import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

extension Response {
    /// JSON texts, one a line.
    static func lines(_ body: ResponseBody) -> Response {
        Response(
            status: .ok,
            headers: [
                .contentType: "application/x-ndjson", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
            ],
            body: body
        )
    }

    /// All of a list, one element a line.
    ///
    /// - Parameters:
    ///   - first: The first page.
    ///   - head: What stands before the first line.
    ///   - next: The page after a page; nil behind the last.
    ///   - write: Writes the lines of a page.
    static func lines<Page: Sendable>(
        pages first: Page,
        head: String = "",
        next: @escaping @Sendable (Page) async throws -> Page?,
        write: @escaping @Sendable (Page, inout any ResponseBodyWriter) async throws -> Void
    ) -> Response {
        .lines(
            ResponseBody { writer in
                if !head.isEmpty { try await writer.write(ByteBuffer(string: head)) }
                var page: Page? = first
                while let part = page {
                    try await write(part, &writer)
                    page = try await next(part)
                }
                try await writer.finish(nil)
            })
    }

    /// All of a list as one JSON array, which is read page by page as the client takes it.
    ///
    /// - Parameters:
    ///   - first: The first page.
    ///   - next: The page after a page; nil behind the last.
    ///   - elements: The elements of a page, as JSON.
    static func array<Page: Sendable>(
        pages first: Page,
        next: @escaping @Sendable (Page) async throws -> Page?,
        elements: @escaping @Sendable (Page) -> [[UInt8]]
    ) -> Response {
        var response = Response.json([])
        response.body = ResponseBody { writer in
            var (page, separator) = (Page?.some(first), "[")
            while let part = page {
                for element in elements(part) {
                    try await writer.write(ByteBuffer(string: separator))
                    try await writer.write(ByteBuffer(bytes: element))
                    separator = ","
                }
                page = try await next(part)
            }
            try await writer.write(ByteBuffer(string: separator == "[" ? "[]" : "]"))
            try await writer.finish(nil)
        }
        return response
    }

    /// A page of a list, and where the next one is.
    ///
    /// - Parameters:
    ///   - items: The next elements of the list; one more than the page holds tells that it goes on.
    ///   - limit: How many the page holds.
    ///   - path: Where the list is.
    ///   - filters: The other parameters of its query, as ``Query/text(_:)`` writes them.
    ///   - cursor: Where the page after an element begins.
    static func page<Element>(
        _ items: [Element],
        limit: Int,
        of path: String,
        _ filters: String = "",
        cursor: (Element) -> String,
        write: (Element, inout JSONWriter) -> Void
    ) -> Response {
        let part = ListPart(items, limit: limit)
        return page(part.shown, next: part.next(cursor), limit: limit, of: path, filters, write: write)
    }

    /// A page of a list.
    ///
    /// - Parameter next: The cursor of the next page; nil at the end of the list.
    static func page<Element>(
        _ shown: [Element],
        next: String?,
        limit: Int,
        of path: String,
        _ filters: String,
        write: (Element, inout JSONWriter) -> Void
    ) -> Response {
        page(next: next, limit: limit, of: path, filters) { writer in
            for element in shown { writer.object { write(element, &$0) } }
        }
    }

    /// - Parameter elements: Writes the elements of the page.
    private static func page(
        next: String?, limit: Int, of path: String, _ filters: String, elements: (inout JSONWriter) -> Void
    ) -> Response {
        var response = Response.json { writer in
            writer.member("data", array: elements)
            writer.member("hasMore", next != nil)
            writer.member("nextCursor", next)
        }
        response.headers[.link] = next.map { "<\(path)?limit=\(limit)\(filters)&cursor=\($0)>; rel=\"next\"" }
        return response
    }

    /// A page of a list that has no filters and is in the order of ids.
    ///
    /// - Parameters:
    ///   - id: The id of an element.
    ///   - find: The elements behind an id, or from the start: so many, if there are.
    static func page<Element, Kind>(
        _ call: Call,
        of path: String,
        id: (Element) -> Identifier<Kind>,
        find: (Identifier<Kind>?, Int) async throws -> [Element],
        write: (Element, inout JSONWriter) -> Void
    ) async throws -> Response {
        let query = try call.query(allowing: ["limit", "cursor"])
        let limit = try query.integer("limit", in: 1...100, default: 25)
        let after = try query["cursor"].map { try Cursor<Kind>($0, filter: "").after }
        return try await page(of: path, limit: limit, after: after, id: id, find: find, write: write)
    }

    /// A page of a list in the order of ids, whose elements may be large: it ends early when it has 1 MiB.
    ///
    /// - Parameters:
    ///   - after: Behind which element the page begins; nil for the first.
    ///   - filters: The other parameters of its query, as ``Query/text(_:)`` writes them.
    ///   - digest: What a cursor says of them.
    ///   - id: The id of an element.
    ///   - find: The elements behind an id, or from the start: so many, if there are.
    static func page<Element, Kind>(
        of path: String,
        limit: Int,
        after: Identifier<Kind>?,
        filters: String = "",
        digest: String = "",
        id: (Element) -> Identifier<Kind>,
        find: (Identifier<Kind>?, Int) async throws -> [Element],
        write: (Element, inout JSONWriter) -> Void
    ) async throws -> Response {
        let part = try await ListPart.read(limit: limit, after: after, id: id, find: find) { element in
            let text = RawJSON(JSONWriter.object { write(element, &$0) })
            return (text, text.bytes.count)
        }
        let cursor = part.next { Cursor(after: $0.id, filter: digest).text }
        return page(next: cursor, limit: limit, of: path, filters) { writer in
            for element in part.shown { writer.raw(element.form) }
        }
    }
}
