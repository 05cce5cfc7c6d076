import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird
import NIOCore

/// Storing, reading and deleting blobs.
struct BlobRoutes: Sendable {
    /// How many bytes a blob may have.
    let maximumBytes: Int64
    let blobs: any BlobStore
    let catalog: any BlobCatalog
    /// What comes in and is no blob yet.
    let unfinished: UnfinishedUploads

    /// - Parameter uploads: Takes over where a client says that it may send the blob in several requests.
    func routes(beginning uploads: UploadRoutes) -> [Route] {
        [
            Route(
                .post, "/v1/blobs",
                tenant: { call, tenant in
                    if let isComplete = try call.boolean(.uploadComplete) {
                        return try await uploads.create(call, tenant, isComplete: isComplete)
                    }
                    return try await create(call, tenant)
                }
            ).taking(.bytes),
            Route(.get, "/v1/blobs/{id}", tenant: read),
            Route(.head, "/v1/blobs/{id}", tenant: read),
            Route(.delete, "/v1/blobs/{id}", tenant: delete),
        ]
    }

    // MARK: Creating

    private func create(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let terms = try BlobTerms(of: call)
        let key = try IdempotencyKey(of: call.headers)
        let content = try await receive(call, of: tenant)
        let blob = Blob(tenant: tenant, content: content, contentType: terms.contentType, expiresAt: terms.expiresAt)
        let creation = try await add(blob, key?.idempotency(for: blob))
        switch creation {
        case .created: break
        case .replayed, .conflict: try await blobs.delete(blob.id)
        }
        return try creation.response(Self.response)
    }

    /// Adds a blob to the catalog; one for which there is no room leaves no bytes.
    func add(_ blob: Blob, _ idempotency: Idempotency?) async throws -> Creation<Blob> {
        do throws(StoreError) {
            return try await catalog.add(blob, idempotency)
        } catch {
            // After other errors it may not be known whether the row is there: bytes without one are found later.
            if error.code == .overQuota { try await blobs.delete(blob.id) }
            throw error
        }
    }

    /// Throws when a tenant has no room for so many bytes more.
    func requireRoom(for bytes: Int64, of tenant: Tenant.ID) async throws {
        try await catalog.room(of: tenant)?.require(bytes)
    }

    /// Takes the request's body to the store, and checks the digests that it claims to have.
    private func receive(_ call: Call, of tenant: Tenant.ID) async throws -> MeasuredBlob {
        try call.requireLength(upTo: Int(maximumBytes))
        try await requireRoom(for: call.integer(.contentLength) ?? 1, of: tenant)
        var draft = try await BlobDraft(in: blobs)
        // Until it is over, however it ends, what has come takes room.
        defer { unfinished.add(-draft.count, of: tenant) }
        do {
            var claims = DigestClaims(of: call.headers)
            for try await chunk in call.request.body {
                let bytes = Array(chunk.readableBytesView)
                guard draft.count + Int64(bytes.count) <= maximumBytes else {
                    throw Call.tooLarge(Int(maximumBytes))
                }
                // Asked for each piece, since others of the tenant come in too.
                try await requireRoom(for: Int64(bytes.count), of: tenant)
                claims.update(bytes)
                unfinished.add(Int64(bytes.count), of: tenant)
                try await draft.append(bytes)
            }
            try claims.check()
            return try await draft.finish()
        } catch {
            await draft.abandon()
            throw error
        }
    }

    static func response(_ blob: Blob) -> Response {
        var response = Response.json(status: .created, blob.write)
        response.headers[.location] = "/v1/blobs/\(blob.id)"
        return response
    }

    // MARK: Reading and deleting

    private func read(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let redirects = try Representation.mayRedirect(call)
        guard let id = Blob.ID(call.parameter), let blob = try await catalog.blob(id, of: tenant) else {
            throw Self.notFound
        }
        let body = StoredBody(
            location: .blob(id),
            bytes: blob.content.bytes,
            digest: blob.content.digest,
            contentType: blob.contentType
        )
        return try await Representation(body: body).response(to: call, from: blobs, redirects: redirects)
    }

    private func delete(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        guard let id = Blob.ID(call.parameter) else { throw Self.notFound }
        switch try await catalog.remove(id, of: tenant) {
        case .missing: throw Self.notFound
        case .inUse: throw Problem(.blobInUse)
        case .removed:
            try await blobs.delete(id)
            return Response(status: .noContent)
        }
    }

    static let notFound = Problem(.notFound, "There is no blob with this id.")
}

/// The description of a blob by its sender.
struct BlobTerms {
    static let longestLife: Int64 = 10 * 366 * 86_400

    let contentType: String?
    let expiresAt: Timestamp?

    init(of call: Call) throws {
        let query = try call.query(allowing: ["expiresAfter"])
        let isPlain = call.headers[.contentEncoding].map { $0.lowercased() == "identity" } ?? true
        guard isPlain else { throw Problem(.unsupportedMediaType, "The body must be sent without a content coding.") }
        if let type = call.headers[.contentType], !Representation.isPrintable(type) {
            throw Problem(parameter: "Content-Type", "must be up to 255 visible ASCII characters")
        }
        contentType = call.headers[.contentType]
        let seconds = try query["expiresAfter"].map { _ in
            try query.integer("expiresAfter", in: 1...Int(Self.longestLife), default: 1)
        }
        expiresAt = seconds.map { Timestamp.now.advanced(by: .seconds($0)) }
    }
}

/// The digests that a request claims for its body.
///
/// The body is the whole blob, so both fields are about the same bytes.
struct DigestClaims {
    private var claims: [(name: HTTPField.Name, claim: DigestClaim)]

    init(of headers: HTTPFields, _ names: [HTTPField.Name] = [.contentDigest, .reprDigest]) {
        claims = names.compactMap { name in
            DigestClaim(fields: headers[values: name]).map { (name, $0) }
        }
    }

    mutating func update(_ bytes: [UInt8]) {
        for index in claims.indices { claims[index].claim.update(bytes) }
    }

    /// Throws when a claim about the bytes is not true.
    func check() throws {
        for (name, claim) in claims where !claim.isTrue {
            throw Problem(parameter: name.rawName, "does not match the body", code: .digestMismatch)
        }
    }
}

extension BlobRoom {
    /// - Throws: ``Problem`` `tooManyBytes` when there is no room for so many.
    func require(_ bytes: Int64) throws {
        if bytes > left { throw Problem(self) }
    }
}
