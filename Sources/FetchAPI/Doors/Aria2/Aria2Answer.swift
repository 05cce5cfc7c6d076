import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

/// What a request gets: the result of a call or its error, or a list of them.
struct Aria2Answer: Sendable {
    private enum Content: Sendable {
        case call(id: JSONValue, Result<RawJSON, Aria2Failure>)
        case batch([Aria2Answer])
    }

    private let content: Content

    init(id: JSONValue, result: Result<RawJSON, Aria2Failure>) { content = .call(id: id, result) }

    init(batch answers: [Aria2Answer]) { content = .batch(answers) }

    private func write(_ writer: inout JSONWriter) {
        switch content {
        case .call(let id, let result):
            writer.object { writer in
                writer.member("id", id)
                writer.member("jsonrpc", "2.0")
                switch result {
                case .success(let value): writer.member("result", value)
                case .failure(let failure): writer.member("error", object: { failure.write(&$0) })
                }
            }
        case .batch(let answers): writer.array { writer in for answer in answers { answer.write(&writer) } }
        }
    }

    /// As JSON.
    var bytes: [UInt8] {
        var writer = JSONWriter()
        write(&writer)
        return writer.bytes
    }

    /// - Parameters:
    ///   - origin: The page that may read it; nil for none.
    ///   - callback: The function that a script calls with it; nil for JSON alone.
    func response(to origin: String?, calling callback: String? = nil) -> Response {
        var body = ByteBuffer()
        if let callback { body.writeString("\(callback)(") }
        body.writeBytes(bytes)
        if callback != nil { body.writeString(")") }
        var headers: HTTPFields = [
            .contentType: callback == nil ? "application/json-rpc" : "text/javascript", .cacheControl: "no-store",
            .xContentTypeOptions: "nosniff",
        ]
        AllowedOrigins.write(origin, to: &headers)
        var status = HTTPResponse.Status.ok
        if case .call(_, .failure(let failure)) = content {
            status = failure.status
            headers[.retryAfter] = failure.retryAfter
        }
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: body))
    }
}
