import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

extension Response {
    /// Longer answers are sent whole: reading them again is not worth a second look at all of their bytes.
    private static let maximumTaggedBytes = 1 << 20

    /// The same, or 304 when its tag is one of those that the client has (RFC 9110 §13.1.2).
    ///
    /// It is for answers of which nothing changes without the tag.
    func unlessKnown(to call: Call) -> Response {
        guard status == .ok, let tag = headers[.eTag], let known = call.headers[.ifNoneMatch],
            Representation.matches(known, tag)
        else { return self }
        var fields: HTTPFields = [.eTag: tag]
        // What a cache has to know of both (§15.4.5).
        for name in [HTTPField.Name.cacheControl, .vary] { fields[name] = headers[name] }
        return Response(status: .notModified, headers: fields)
    }

    /// JSON that has no tag, with one of its bytes; 304 when the client has these.
    func taggedByContent(for call: Call) async throws -> Response {
        guard status == .ok, call.request.method == .get || call.request.method == .head, headers[.eTag] == nil,
            headers[.contentType] == "application/json", isWritten,
            let length = body.contentLength, length <= Self.maximumTaggedBytes
        else { return self }
        let bytes = try await wholeBody()
        var response = self
        response.body = ResponseBody(byteBuffer: bytes)
        // Weak, because it stands for their compressed form too (§8.8.3).
        response.headers[.eTag] = "W/\(SHA256Digest(of: Array(bytes.readableBytesView)).tag)"
        return response.unlessKnown(to: call)
    }

    /// Whether the service has written the body itself: stored bytes, and those of origins, are to be kept as files.
    var isWritten: Bool {
        headers[.contentDisposition] == nil && headers[.contentEncoding] == nil && headers[.contentRange] == nil
    }

    // MARK: Bytes

    /// All of the body, which is there already.
    func wholeBody() async throws -> ByteBuffer {
        let collected = Collector()
        try await body.write(collected)
        return collected.bytes.withLock { $0 }
    }

    /// Takes a body in, without a copy where it is one buffer.
    private final class Collector: ResponseBodyWriter {
        let bytes = Mutex(ByteBuffer())

        func write(_ buffer: ByteBuffer) async throws {
            bytes.withLock { bytes in
                var buffer = buffer
                if bytes.readableBytes == 0 { bytes = buffer } else { bytes.writeBuffer(&buffer) }
            }
        }

        func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }
}
