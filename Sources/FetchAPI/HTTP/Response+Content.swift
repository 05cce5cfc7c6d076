import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

extension Response {
    private static let jsonHeaders: HTTPFields = [
        .contentType: "application/json", .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
    ]

    /// A JSON text.
    static func json(_ bytes: [UInt8], status: HTTPResponse.Status = .ok) -> Response {
        Response(status: status, headers: jsonHeaders, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    /// A JSON object.
    static func json(status: HTTPResponse.Status = .ok, _ members: (inout JSONWriter) -> Void) -> Response {
        json(JSONWriter.object(members), status: status)
    }

    static func text(_ text: String, type: String) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: type, .cacheControl: "no-store", .xContentTypeOptions: "nosniff"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }

    /// A page for people: it may load our style sheet and script and send forms to us, and nothing else (SEC-72).
    static func page(_ html: String, status: HTTPResponse.Status = .ok) -> Response {
        Response(status: status, headers: pageHeaders, body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
    }

    static let pageHeaders: HTTPFields = [
        .contentType: "text/html; charset=utf-8",
        .contentSecurityPolicy: PagePolicy.text,
        .xContentTypeOptions: "nosniff",
        .referrerPolicy: "no-referrer",
        .crossOriginOpenerPolicy: "same-origin",
        .crossOriginResourcePolicy: "same-origin",
        .strictTransportSecurity: "max-age=31536000",
        .cacheControl: "no-store",
    ]
}

/// What pages may load, and where their forms may lead.
enum PagePolicy {
    static let text =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        + "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
}
