import Crypto
import FetchJobs
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// A text that is the same for everyone until the service is replaced: a browser keeps it and asks whether it still is.
struct Document: Sendable {
    private let text: String
    private let tag: String
    private let headers: HTTPFields

    /// - Parameter policy: What a page may load; nil of what is no page.
    init(_ text: String, type: String, policy: String? = nil) {
        self.text = text
        // Weak, because it stands for the encoded text too (RFC 9110 §8.8.3.3).
        tag = "W/\"\(Data(SHA256.hash(data: Data(text.utf8)).prefix(18)).base64EncodedString())\""
        var headers: HTTPFields =
            policy == nil
            ? [.xContentTypeOptions: "nosniff", .crossOriginResourcePolicy: "same-origin"] : Response.pageHeaders
        headers[.contentType] = type
        headers[.contentSecurityPolicy] = policy
        headers[.cacheControl] = "no-cache"
        headers[.eTag] = tag
        self.headers = headers
    }

    func response(to call: Call) -> Response {
        if let field = call.headers[.ifNoneMatch], Representation.matches(field, String(tag.trimmingPrefix("W/"))) {
            return Response(status: .notModified, headers: [.eTag: tag, .cacheControl: "no-cache"])
        }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
