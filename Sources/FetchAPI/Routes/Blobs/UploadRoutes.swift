import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes
import Synchronization

/// Sending a blob in several requests (draft-ietf-httpbis-resumable-upload).
///
/// `POST /v1/blobs` with `Upload-Complete` begins an upload; its resource tells the offset, takes more, and cancels.
struct UploadRoutes: Sendable {
    /// Uploads that are not complete after so long are removed.
    static let maximumAge: Int64 = 7 * 86_400
    /// How many a tenant may have on a node that are not complete.
    static let maximumCount = 1000

    let blobs: BlobRoutes
    let area: any UploadArea
    let forwarding: Forwarding
    private let busy = UploadsInUse()

    init(blobs: BlobRoutes, area: any UploadArea, forwarding: Forwarding) {
        self.blobs = blobs
        self.area = area
        self.forwarding = forwarding
    }

    var routes: [Route] {
        [
            Route(.head, "/v1/uploads/{id}", tenant: offset),
            Route(.patch, "/v1/uploads/{id}", tenant: append).taking(.bytes),
            Route(.delete, "/v1/uploads/{id}", tenant: cancel),
        ]
    }

    // MARK: Begin

    /// Answers `POST /v1/blobs` when it has the field that makes an upload of it.
    func create(_ call: Call, _ tenant: Tenant.ID, isComplete: Bool) async throws -> Response {
        let terms = try BlobTerms(of: call)
        let length = try call.integer(.uploadLength) ?? (isComplete ? call.integer(.contentLength) : nil)
        if let length, length > blobs.maximumBytes { throw Call.tooLarge(Int(blobs.maximumBytes)) }
        try await blobs.requireRoom(for: length ?? call.integer(.contentLength) ?? 0, of: tenant)
        guard blobs.unfinished.count(of: tenant) < Self.maximumCount else {
            throw Problem(
                .tooManyUploads, "A tenant may have \(Self.maximumCount) uploads on a node that are not complete."
            ).limited(by: "uploads", quota: Self.maximumCount, retryingAfter: 60)
        }
        let upload = Upload(
            id: Upload.ID(in: area.volume), tenant: tenant, contentType: terms.contentType, expiresAt: terms.expiresAt,
            length: length)
        return try await alone(with: upload.id, of: tenant) {
            try await area.create(upload)
            // Should the connection break before the answer, the client knows where to go on (§4.1). A client that does
            // not know the draft may take an interim response for the final one.
            let isTold = call.headers.contains(.uploadDraftInteropVersion)
            if isTold {
                let early = HTTPResponse(
                    status: .init(code: 104, reasonPhrase: "Upload Resumption Supported"),
                    headerFields: [.location: Self.path(of: upload.id), .uploadDraftInteropVersion: "6"])
                try? await call.channel.writeAndFlush(HTTPResponsePart.head(early))
            }
            do { return try await receive(call, upload, at: 0, isComplete: isComplete, isNew: true) } catch {
                // Nobody can go on with what nobody knows of. A leftover is removed later.
                if !isTold { try? await area.remove(upload.id, of: tenant) }
                throw error
            }
        }
    }

    // MARK: Go on

    private func offset(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        if let answer = try await answerElsewhere(call) { return answer }
        let (upload, offset) = try await find(call, tenant)
        var headers = fields(offset: offset, isComplete: false)
        headers[.uploadLength] = upload.length.map { String($0) }
        headers[.uploadLimit] = "max-size=\(blobs.maximumBytes), max-age=\(Self.maximumAge)"
        return Response(status: .noContent, headers: headers)
    }

    private func append(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        if let answer = try await answerElsewhere(call) { return answer }
        try call.requireContent("application/partial-upload")
        let isComplete = try call.boolean(.uploadComplete) ?? false
        guard let claimed = try call.integer(.uploadOffset) else {
            throw Problem(parameter: "Upload-Offset", "is required")
        }
        guard let id = Upload.ID(call.parameter) else { throw Self.notFound }
        return try await alone(with: id, of: tenant) {
            // Read when nobody else can append: what came after the offset would be cut off.
            let (upload, offset) = try await find(call, tenant)
            guard claimed == offset else {
                var problem = Problem(.uploadOffsetMismatch, "The upload has \(offset) bytes.")
                problem.headers[.uploadOffset] = String(offset)
                throw problem
            }
            let rest = try upload.length.map { $0 - offset } ?? call.integer(.contentLength)
            try await blobs.requireRoom(for: rest ?? 0, of: tenant)
            return try await receive(call, upload, at: offset, isComplete: isComplete, isNew: false)
        }
    }

    private func cancel(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        if let answer = try await answerElsewhere(call) { return answer }
        let (upload, _) = try await find(call, tenant)
        try await area.remove(upload.id, of: tenant)
        return Response(status: .noContent)
    }

    /// The answer of the node on whose disk the upload grows; nil when it is this one.
    private func answerElsewhere(_ call: Call) async throws -> Response? {
        guard let id = Upload.ID(call.parameter), id.volume != area.volume else { return nil }
        return try await forwarding.answer(feeding: call, about: id.volume)
    }

    private func find(_ call: Call, _ tenant: Tenant.ID) async throws -> (upload: Upload, offset: Int64) {
        _ = try call.query()
        guard let id = Upload.ID(call.parameter), let upload = try await area.upload(id, of: tenant) else {
            throw Self.notFound
        }
        return upload
    }

    private static let notFound = Problem(.notFound, "There is no upload with this id.")

    /// Does what no other request may do to the upload meanwhile.
    private func alone(
        with id: Upload.ID, of tenant: Tenant.ID, _ body: () async throws -> Response
    ) async throws -> Response {
        guard busy.enter(id, of: tenant) else {
            throw Problem(.uploadOffsetMismatch, "Another request appends to the upload.").retrying(after: 1)
        }
        defer { busy.leave(id, of: tenant) }
        return try await body()
    }

    // MARK: Bytes

    private func receive(
        _ call: Call,
        _ upload: Upload,
        at offset: Int64,
        isComplete: Bool,
        isNew: Bool
    ) async throws -> Response {
        let end = try await write(call, upload, at: offset)
        guard isComplete else {
            var response = Response(status: isNew ? .created : .noContent)
            response.headers = fields(offset: end, isComplete: false)
            response.headers[.location] = Self.path(of: upload.id)
            return response
        }
        guard upload.length.map({ $0 == end }) ?? true else {
            throw Problem(parameter: "Upload-Length", "is not the length that the upload has come to")
        }
        return try await finish(upload, offset: end)
    }

    /// Appends the body; bytes that came before the connection broke count.
    private func write(_ call: Call, _ upload: Upload, at offset: Int64) async throws -> Int64 {
        let limit = min(blobs.maximumBytes, upload.length ?? .max)
        var claims = DigestClaims(of: call.headers, [.contentDigest])
        let writer = try await area.open(upload, at: offset)
        var end = offset
        do {
            for try await chunk in call.request.body {
                let bytes = Array(chunk.readableBytesView)
                guard end + Int64(bytes.count) <= limit else { throw Call.tooLarge(Int(limit)) }
                try await blobs.requireRoom(for: Int64(bytes.count), of: upload.tenant)
                claims.update(bytes)
                try await writer.write(bytes)
                end += Int64(bytes.count)
            }
        } catch {
            try await writer.close()
            throw error
        }
        try await writer.close()
        do { try claims.check() } catch {
            // These bytes never came.
            try await area.open(upload, at: offset).close()
            throw error
        }
        return end
    }

    private func finish(_ upload: Upload, offset: Int64) async throws -> Response {
        let content = try await blobs.blobs.adopt(fileAt: area.path(of: upload))
        // The blob takes its place, and its room.
        try await area.remove(upload.id, of: upload.tenant)
        let blob = Blob(
            tenant: upload.tenant, content: content, contentType: upload.contentType, expiresAt: upload.expiresAt)
        var response = try await blobs.add(blob, nil).response(BlobRoutes.response)
        response.headers[.uploadComplete] = "?1"
        response.headers[.uploadOffset] = String(offset)
        return response
    }

    private func fields(offset: Int64, isComplete: Bool) -> HTTPFields {
        [
            .uploadOffset: String(offset), .uploadComplete: isComplete ? "?1" : "?0", .cacheControl: "no-store",
        ]
    }

    private static func path(of id: Upload.ID) -> String { "/v1/uploads/\(id)" }
}

/// The uploads that a request appends to at the moment: one request each.
private final class UploadsInUse: Sendable {
    /// By the tenant that asks, whose the upload may not be.
    private let ids = Mutex<[Tenant.ID: Set<Upload.ID>]>([:])

    func enter(_ id: Upload.ID, of tenant: Tenant.ID) -> Bool {
        ids.withLock { $0[tenant, default: []].insert(id).inserted }
    }

    func leave(_ id: Upload.ID, of tenant: Tenant.ID) {
        ids.withLock { ids in
            ids[tenant]?.remove(id)
            if ids[tenant]?.isEmpty == true { ids[tenant] = nil }
        }
    }
}

extension Call {
    /// A structured boolean (RFC 9651 §3.3.6).
    func boolean(_ name: HTTPField.Name) throws -> Bool? {
        switch headers[name] {
        case nil: return nil
        case "?1": return true
        case "?0": return false
        default: throw Problem(parameter: name.rawName, "must be ?0 or ?1")
        }
    }

    /// A structured integer that is not negative.
    func integer(_ name: HTTPField.Name) throws -> Int64? {
        guard let text = headers[name] else { return nil }
        guard let number = Int64(text), number >= 0, text.first != "+" else {
            throw Problem(parameter: name.rawName, "must be a whole number")
        }
        return number
    }
}
