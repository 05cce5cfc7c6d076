import FetchJobs
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore

/// Stored bytes as an answer, whole or in part (RFC 9110 §13, §14).
struct Representation: Sendable {
    let body: StoredBody

    private var tag: String { body.digest.tag }

    /// - Parameters:
    ///   - blobs: Where larger bodies are.
    ///   - redirects: Whether the client may be sent to the store that has them.
    func response(to call: Call, from blobs: any BlobStore, redirects: Bool = false) async throws -> Response {
        if let field = call.headers[.ifNoneMatch], Self.matches(field, tag) {
            return Response(status: .notModified, headers: [.eTag: tag, .cacheControl: "private, no-cache"])
        }
        // A tag that has changed makes the range void (§13.1.5); dates are not given out, so they never match.
        let isSame = call.headers[.ifRange].map { $0 == tag } ?? true
        var headers = Self.headers(type: body.contentType, filename: body.filename)
        headers[.acceptRanges] = "bytes"
        headers[.eTag] = tag
        headers[.reprDigest] = body.digest.field
        if redirects, let link = try await link(headers, call, blobs) { return link }
        let part = body.part(isSame ? call.headers[values: .range] : [])
        guard let bytes = part.bytes else {
            var problem = Problem(.rangeNotSatisfiable, "The body has \(body.bytes) bytes.")
            problem.headers[.contentRange] = part.contentRange
            throw problem
        }
        headers[.contentRange] = part.contentRange
        return try await content(
            bytes, status: part.contentRange == nil ? .ok : .partialContent, headers, call, blobs)
    }

    static let redirectParameter = "redirect"

    /// Whether the client of a call may be sent to a store; what a query for stored bytes can say.
    static func mayRedirect(_ call: Call) throws -> Bool {
        try call.query(allowing: [redirectParameter]).bool(redirectParameter) ?? false
    }

    /// The way to the bytes where the store gives them to clients by itself; nil where it does not.
    private func link(_ headers: HTTPFields, _ call: Call, _ blobs: any BlobStore) async throws -> Response? {
        guard call.request.method == .get, case .blob(let id) = body.location,
            let url = try await blobs.url(of: id, answering: headers)
        else { return nil }
        return Response(
            status: .temporaryRedirect,
            headers: [.location: url, .reprDigest: body.digest.field, .cacheControl: "no-store"])
    }

    private func content(
        _ range: Range<Int64>,
        status: HTTPResponse.Status,
        _ headers: HTTPFields,
        _ call: Call,
        _ blobs: any BlobStore
    ) async throws -> Response {
        let length = Int(range.count)
        guard call.request.method != .head, length > 0 else {
            var headers = headers
            headers[.contentLength] = String(length)
            return Response(status: status, headers: headers)
        }
        return Response(
            status: status, headers: headers, body: try await Self.content(range, of: body.location, from: blobs))
    }

    /// A part of stored bytes.
    static func content(
        _ range: Range<Int64>, of location: StoredBody.Location, from blobs: any BlobStore
    ) async throws -> ResponseBody {
        switch location {
        case .inline(let bytes):
            return ResponseBody(
                byteBuffer: ByteBuffer(bytes: bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
        case .blob(let id):
            // Opened before the status is sent, so that a missing blob is not a broken answer.
            let reader = try await blobs.open(id, range: range)
            return ResponseBody(contentLength: Int(range.count)) { writer in
                while let bytes = try await reader.next() { try await writer.write(ByteBuffer(bytes: bytes)) }
                try await writer.finish(nil)
            }
        }
    }

    /// Fields that keep a browser from rendering content of an origin or a client (SEC-47).
    static func headers(type: String?, filename: String?) -> HTTPFields {
        [
            .contentType: type.flatMap { isPrintable($0) ? $0 : nil } ?? "application/octet-stream",
            .contentDisposition: filename.map { disposition($0) } ?? "attachment",
            .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "sandbox; default-src 'none'",
            .crossOriginResourcePolicy: "same-origin",
            .cacheControl: "private, no-cache",
        ]
    }

    static func isPrintable(_ type: String) -> Bool {
        !type.isEmpty && type.utf8.count <= 255 && type.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// The name in the form for everyone and, where that is not the whole name, in the extended one (RFC 6266 §4.3).
    private static func disposition(_ filename: String) -> String {
        let plain = String(
            decoding: filename.utf8.map { byte in
                let isSafe = (0x20...0x7E).contains(byte) && !"\"\\%".utf8.contains(byte)
                return isSafe ? byte : UInt8(ascii: "_")
            },
            as: UTF8.self
        )
        guard plain != filename else { return "attachment; filename=\"\(plain)\"" }
        return "attachment; filename=\"\(plain)\"; filename*=UTF-8''\(filename.percentEncoded)"
    }

    /// Whether a list of tags holds this one, compared weakly (§13.1.2).
    static func matches(_ field: String, _ tag: String) -> Bool {
        let tag = tag.trimmingPrefix("W/")
        return matches(field) { $0 == tag }
    }

    /// Whether a list of tags holds one that is meant; each is looked at without the mark of a weak one.
    static func matches(_ field: String, _ isMeant: (Substring) -> Bool) -> Bool {
        field.split(separator: ",").contains { part in
            let candidate = part.trimmingPrefix(while: \.isWhitespace).prefix { !$0.isWhitespace }
            return candidate == "*" || isMeant(candidate.trimmingPrefix("W/"))
        }
    }
}

extension SHA256Digest {
    /// As an entity tag.
    var tag: String { "\"\(Data(bytes).base64EncodedString())\"" }
}
