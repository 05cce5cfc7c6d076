import FetchJobs
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// Answers the repeat of a request under an Idempotency-Key as the first one was answered, and does nothing for it.
///
/// It is for requests that make nothing with which their key is stored. Their responses are kept whole: what came of a
/// request may have changed since.
struct IdempotentRequests: Sendable {
    /// Longer responses are not kept: a short request could fill the database with them.
    static let maximumResponse = 65_536

    /// Operations that make something, and store the key with it.
    static let storingKeys: Set = [
        "/v1/jobs", "/v1/jobs/batch", "/v1/schedules", "/v1/schedules/{id}/run", "/v1/groups", "/v1/sessions",
        "/v1/blobs", "/v1/webhooks/endpoints", "/v1/webhooks/endpoints/{id}/rotate",
    ]
    /// Operations that take no key: they change nothing, or show a secret once.
    static let takingNone: Set = [
        "/v1/explain", "/v1/cookies/parse", "/v1/jobs/{id}/events/token", "/v1/webhooks/endpoints/{id}/test",
        "/v1/keys", "/v1/keys/{id}/rotate",
    ]

    let store: any IdempotencyStore

    /// Whether it is for an operation of clients.
    static func covers(_ method: HTTPRequest.Method, _ path: String) -> Bool {
        method == .post && path.hasPrefix("/v1/") && !storingKeys.contains(path) && !takingNone.contains(path)
    }

    /// The response of a request, or of the first one with its key.
    func response(
        to call: Call, of tenant: Tenant.ID, by handler: (Call, Tenant.ID) async throws -> Response
    ) async throws -> Response {
        guard let key = try IdempotencyKey(of: call.headers) else { return try await handler(call, tenant) }
        let body = try await call.body(upTo: JobRoutes.maximumBody)
        let idempotency = key.idempotency(for: call.request, body)
        switch try await store.begin(idempotency, of: tenant) {
        case .begun(let request):
            var call = call
            call.request.body = RequestBody(buffer: body)
            return try await carryOut(request, call, by: handler)
        case .ended(let bytes):
            var response = try Response(kept: bytes)
            response.headers[.idempotencyReplayed] = "true"
            return response
        case .running:
            throw Problem(.idempotencyKeyInUse, "The first request with this key is being carried out.").retrying(
                after: 1)
        case .endedAtLength:
            throw Problem(
                .idempotencyKeyInUse,
                "The request was carried out; its answer has more than \(Self.maximumResponse) bytes and is not kept.")
        case .conflict:
            throw Problem(parameter: "Idempotency-Key", "was used for another request", code: .idempotencyKeyReused)
        }
    }

    private func carryOut(
        _ request: IdempotentRequest, _ call: Call, by handler: (Call, Tenant.ID) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            response = try await handler(call, request.tenant)
        } catch {
            await note(in: call) { () throws(StoreError) in try await store.abandon(request) }
            throw error
        }
        guard response.status.kind == .successful else {
            await note(in: call) { () throws(StoreError) in try await store.abandon(request) }
            return response
        }
        let body = try await response.wholeBody()
        response.body = ResponseBody(byteBuffer: body)
        let kept = response.kept(with: body)
        await note(in: call) { () throws(StoreError) in
            try await store.end(request, with: kept.count <= Self.maximumResponse ? kept : nil)
        }
        return response
    }

    /// Does not fail the request, which was answered: its key is taken for some minutes then.
    private func note(in call: Call, _ change: () async throws(StoreError) -> Void) async {
        do { try await change() } catch {
            call.logger.warning(
                "The end of a request was not stored with its Idempotency-Key",
                metadata: ["request.id": "\(call.id.text)", "error": "\(error)"])
        }
    }
}

extension IdempotencyKey {
    /// The key with the fingerprint of a whole request.
    func idempotency(for request: Request, _ body: ByteBuffer) -> Idempotency {
        let head = "\(request.method.rawValue) \(request.head.path ?? "")\n"
        return Idempotency(key: text, fingerprint: SHA256Digest(of: Array(head.utf8) + body.readableBytesView))
    }
}

extension Response {
    /// Its status, fields and body in one, as a message of HTTP has them.
    fileprivate func kept(with body: ByteBuffer) -> [UInt8] {
        var head = "\(status.code)\n"
        for field in headers where field.name != .contentLength { head += "\(field.name.rawName): \(field.value)\n" }
        return Array("\(head)\n".utf8) + body.readableBytesView
    }

    fileprivate init(kept bytes: [UInt8]) throws {
        let line = UInt8(ascii: "\n")
        let end = bytes.indices.dropLast().first { bytes[$0] == line && bytes[$0 + 1] == line }
        let lines = String(decoding: bytes[..<(end ?? 0)], as: UTF8.self).split(separator: "\n")
        guard let end, let code = lines.first.flatMap({ Int($0) }) else {
            throw StoreError(.failed, "A response was kept in a form that is not known here.")
        }
        var fields = HTTPFields()
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon])) else {
                continue
            }
            fields.append(HTTPField(name: name, value: String(line[colon...].dropFirst(2))))
        }
        self.init(
            status: HTTPResponse.Status(code: code), headers: fields,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes[(end + 2)...])))
    }
}
