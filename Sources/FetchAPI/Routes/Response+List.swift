import FetchJobs
import HTTPTypes
import Hummingbird

extension Response {
    /// A page of a list, and where the next one is.
    ///
    /// - Parameters:
    ///   - cursor: Where the next page begins; nil when this is the last one.
    ///   - list: The address of the list, with what else its query says.
    static func page<Element>(
        _ elements: some Collection<Element>,
        next cursor: String?,
        of list: String,
        write: (Element, inout JSONWriter) -> Void
    ) -> Response {
        var response = Response.json { writer in
            writer.member(
                "data",
                array: { writer in
                    for element in elements { writer.object { write(element, &$0) } }
                }
            )
            writer.member("hasMore", cursor != nil)
            writer.member("nextCursor", cursor)
        }
        response.headers[.link] = cursor.map { "<\(list)&cursor=\($0)>; rel=\"next\"" }
        return response
    }
}
