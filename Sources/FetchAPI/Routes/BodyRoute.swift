import FetchJobs
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// Reading the response body of a job, whole or in part (RFC 9110 §13, §14).
struct BodyRoute: Sendable {
    let jobs: any JobStore
    let blobs: any BlobStore

    var routes: [Route] {
        [
            Route(.get, "/v1/jobs/{id}/body", tenant: read),
            Route(.head, "/v1/jobs/{id}/body", tenant: read),
        ]
    }

    private func read(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        let body = try await body(of: call, tenant)
        let tag = "\"\(Data(body.digest.bytes).base64EncodedString())\""
        var headers = headers(of: body, tag: tag)
        if let field = call.headers[.ifNoneMatch], Self.matches(field, tag) {
            return Response(status: .notModified, headers: [.eTag: tag, .cacheControl: "private, no-cache"])
        }
        // A tag that has changed makes the range void (§13.1.5); dates are not given out, so they never match.
        let isSame = call.headers[.ifRange].map { $0 == tag } ?? true
        switch ByteRange(field: isSame ? call.headers[.range] : nil, size: body.bytes) {
        case .whole:
            return try await response(body, 0..<body.bytes, status: .ok, headers, call)
        case .part(let range):
            headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(body.bytes)"
            return try await response(body, range, status: .partialContent, headers, call)
        case .unsatisfiable:
            var problem = Problem(.rangeNotSatisfiable, "The body has \(body.bytes) bytes.")
            problem.headers[.contentRange] = "bytes */\(body.bytes)"
            throw problem
        }
    }

    private func body(of call: Call, _ tenant: Tenant.ID) async throws -> StoredBody {
        guard let id = Job.ID(call.parameter) else { throw JobRoutes.notFound }
        if let body = try await jobs.body(of: id, tenant: tenant) { return body }
        guard let job = try await jobs.job(id, of: tenant) else { throw JobRoutes.notFound }
        guard job.state.isFinal else {
            throw Problem(.jobNotFinal, "The job is \(job.state.rawValue); its body is not complete.").retrying(
                after: 1)
        }
        throw Problem(.notFound, "The job has no response body.")
    }

    /// What a browser is told keeps it from rendering what an origin sent (SEC-47).
    private func headers(of body: StoredBody, tag: String) -> HTTPFields {
        let type = body.contentType.flatMap { type in
            let isPrintable =
                !type.isEmpty && type.utf8.count <= 255 && type.utf8.allSatisfy { (0x20...0x7E).contains($0) }
            return isPrintable ? type : nil
        }
        return [
            .contentType: type ?? "application/octet-stream",
            .contentDisposition: "attachment",
            .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "sandbox; default-src 'none'",
            .crossOriginResourcePolicy: "same-origin",
            .cacheControl: "private, no-cache",
            .acceptRanges: "bytes",
            .eTag: tag,
            .reprDigest: body.digest.field,
        ]
    }

    private func response(
        _ body: StoredBody,
        _ range: Range<Int64>,
        status: HTTPResponse.Status,
        _ headers: HTTPFields,
        _ call: Call
    ) async throws -> Response {
        let length = Int(range.count)
        guard call.request.method != .head, length > 0 else {
            var headers = headers
            headers[.contentLength] = String(length)
            return Response(status: status, headers: headers)
        }
        switch body.location {
        case .inline(let bytes):
            let part = ByteBuffer(bytes: bytes[Int(range.lowerBound)..<Int(range.upperBound)])
            return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: part))
        case .blob(let id):
            // Opened before the status is sent, so that a missing blob is not a broken answer.
            let reader = try await blobs.open(id, range: range)
            let content = ResponseBody(contentLength: length) { writer in
                while let bytes = try await reader.next() { try await writer.write(ByteBuffer(bytes: bytes)) }
                try await writer.finish(nil)
            }
            return Response(status: status, headers: headers, body: content)
        }
    }

    /// Whether a list of tags holds this one, compared weakly (§13.1.2).
    static func matches(_ field: String, _ tag: String) -> Bool {
        field.split(separator: ",").contains { part in
            let candidate = part.trimmingPrefix(while: \.isWhitespace).prefix { !$0.isWhitespace }
            return candidate == "*" || candidate.trimmingPrefix("W/") == tag
        }
    }
}
