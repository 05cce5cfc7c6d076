import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

/// A text that is the same for everyone until the service is replaced: a browser keeps it and asks whether it still is.
struct Document: Sendable {
    private let text: String
    private let headers: HTTPFields

    /// - Parameter policy: What a page may load; nil of what is no page.
    init(_ text: String, type: String, policy: String? = nil) {
        self.text = text
        var headers: HTTPFields =
            policy == nil
            ? [.xContentTypeOptions: "nosniff", .crossOriginResourcePolicy: "same-origin"] : Response.pageHeaders
        headers[.contentType] = type
        headers[.contentSecurityPolicy] = policy
        // A page of a newer release never meets the file of an older one.
        headers[.cacheControl] = "no-cache"
        headers[.eTag] = SHA256Digest(of: Array(text.utf8)).tag
        self.headers = headers
    }

    func response(to call: Call) -> Response {
        Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
            .unlessKnown(to: call)
    }
}
