import FetchEngine
import FetchJobs
import FetchRuntime

/// Makes the engine's request of a job's: with the bytes that its body stands for.
struct RequestContent: Sendable {
    let blobs: any BlobStore
    let catalog: any BlobCatalog
    /// The body that the client streams while the job runs.
    let upload: LiveUpload
    /// The content type of a body whose form has none of its own.
    var contentType: String?
    /// Keeps the body that the client streams; nil for one that goes through.
    var spool: BodySpool?

    /// The body of a job, and the content type to send when the client named none.
    struct Prepared {
        var body: RequestBody
        var contentType: String?
        /// Files that were made for this request and go when it is over.
        var copies: [String] = []
    }

    nonisolated(nonsending) func request(
        for job: JobRequest,
        of tenant: Tenant.ID
    ) async throws(LoadError) -> (Request, copies: [String]) {
        guard let body = job.body else { return (Request(job, body: nil, contentType: nil), []) }
        let prepared = try await content(of: body, tenant: tenant)
        // A form of several parts says in its type how they are told apart.
        let own = if case .multipart = body { String?.none } else { contentType }
        return (Request(job, body: prepared.body, contentType: own ?? prepared.contentType), prepared.copies)
    }

    /// The same for the load that sends it.
    nonisolated(nonsending) func content(of body: JobBody, tenant: Tenant.ID) async throws(LoadError) -> Prepared {
        if body == .stream, let spool { return try await spool.take(from: upload) }
        do throws(StoreError) { return try await prepare(body, of: tenant) } catch { throw LoadError(error) }
    }

    /// What a body stands for, read from where it is.
    nonisolated(nonsending) func prepare(
        _ body: JobBody,
        of tenant: Tenant.ID
    ) async throws(StoreError) -> Prepared {
        if let inline = Prepared(inline: body) { return inline }
        switch body {
        case .text, .base64, .json, .form: preconditionFailure("A body that is in the job has its bytes there.")
        case .stream: return Prepared(body: .stream(upload))
        case .multipart(let parts): return try await multipart(parts, of: tenant)
        case .blob(let id):
            let (file, blob) = try await file(id, of: tenant)
            return Prepared(
                body: .file(path: file.path),
                contentType: blob.contentType ?? "application/octet-stream",
                copies: file.isCopy ? [file.path] : []
            )
        }
    }

    private nonisolated(nonsending) func multipart(
        _ parts: [JobBody.Part],
        of tenant: Tenant.ID
    ) async throws(StoreError) -> Prepared {
        var form = MultipartForm()
        var copies: [String] = []
        for part in parts {
            switch part.content {
            case .text, .base64: form.append(part)
            case .blob(let id):
                let (file, blob) = try await file(id, of: tenant)
                if file.isCopy { copies.append(file.path) }
                form.append(
                    part.name, file: file.path, filename: part.filename ?? part.name,
                    contentType: part.contentType ?? blob.contentType)
            }
        }
        return Prepared(body: form.body, contentType: form.contentType, copies: copies)
    }

    private nonisolated(nonsending) func file(
        _ id: Blob.ID,
        of tenant: Tenant.ID
    ) async throws(StoreError) -> (BlobFile, Blob) {
        guard let blob = try await catalog.blob(id, of: tenant) else {
            throw StoreError(.blobGone, "The blob that the job sends is gone.")
        }
        return (try await blobs.file(of: id, bytes: blob.content.bytes), blob)
    }
}

extension RequestContent.Prepared {
    /// The content of a body that is in the job itself; nil for streams, and for bodies with blobs.
    init?(inline body: JobBody) {
        switch body {
        case .text(let text):
            self.init(body: .bytes(Array(text.utf8)), contentType: "text/plain; charset=utf-8")
        case .base64(let bytes): self.init(body: .bytes(bytes))
        case .json(let value):
            var writer = JSONWriter()
            writer.value(value)
            self.init(body: .bytes(writer.bytes), contentType: "application/json")
        case .form(let fields):
            let text = PercentCodec.form(fields.map { QueryItem($0.name, $0.value) })
            self.init(body: .bytes(Array(text.utf8)), contentType: "application/x-www-form-urlencoded")
        case .multipart(let parts) where body.holdsItsBytes:
            var form = MultipartForm()
            for part in parts { form.append(part) }
            self.init(body: form.body, contentType: form.contentType)
        case .stream, .multipart, .blob: return nil
        }
    }
}

extension JobBody {
    fileprivate var holdsItsBytes: Bool {
        guard case .multipart(let parts) = self else { return true }
        return parts.allSatisfy { if case .blob = $0.content { false } else { true } }
    }
}

extension MultipartForm {
    /// Adds a part that is in the job.
    fileprivate mutating func append(_ part: JobBody.Part) {
        switch part.content {
        case .text(let text) where part.filename == nil: append(part.name, text)
        case .text(let text):
            append(part.name, content: Array(text.utf8), filename: part.filename ?? "", contentType: part.contentType)
        case .base64(let bytes):
            append(part.name, content: bytes, filename: part.filename ?? part.name, contentType: part.contentType)
        case .blob: break
        }
    }
}
