package import FetchEngine
package import FetchJobs
import FoundationEssentials
package import HTTPTypes
import NIOFileSystem

/// Blobs as objects of one bucket in a store that speaks S3.
///
/// Larger ones are sent in parts while they come. A part gathers in a file, so that an upload has little in memory.
package struct S3BlobStore: BlobStore {
    package struct Configuration: Sendable, CustomStringConvertible {
        /// Scheme, host and port, such as `https://s3.eu-central-1.amazonaws.com`.
        package var origin: String
        package var bucket: String
        /// The same as clients reach it, when they do so by another name.
        package var publicOrigin: String?
        /// Whether the bucket is named by the host, `bucket.s3.example.com`, and not by the path.
        package var namesBucketByHost = false
        package var region = "us-east-1"
        package var keys: Keys
        /// How the store encrypts what it keeps; nil for as the bucket says.
        package var encryption: Encryption?
        /// Stands before the names of all objects.
        package var prefix = ""
        /// Where copies of blobs are made for readers that need files.
        package var stagingDirectory: String

        package init(origin: String, bucket: String, keys: Keys, stagingDirectory: String) {
            self.origin = origin
            self.bucket = bucket
            self.keys = keys
            self.stagingDirectory = stagingDirectory
        }

        /// It holds a secret: it never prints itself.
        package var description: String { "<s3>" }
    }

    /// What requests are signed with.
    package enum Keys: Sendable {
        case fixed(SignatureV4.Credentials)
        /// Those that variables of the process lead to, as the SDKs of AWS find them.
        case environment([String: String])

        package static func fixed(_ id: String, _ secret: String, token: String? = nil) -> Keys {
            .fixed(SignatureV4.Credentials(accessKeyID: id, secretAccessKey: secret, sessionToken: token))
        }
    }

    /// How a store encrypts objects by itself (`x-amz-server-side-encryption`).
    package enum Encryption: Sendable, Equatable {
        /// With keys of the store.
        case storeKeys
        /// With a key of a key management service: that with an id, or the bucket's.
        case managedKey(String?)

        var fields: HTTPFields {
            let form = HTTPField.Name(constant: "x-amz-server-side-encryption")
            let key = HTTPField.Name(constant: "x-amz-server-side-encryption-aws-kms-key-id")
            switch self {
            case .storeKeys: return [form: "AES256"]
            case .managedKey(nil): return [form: "aws:kms"]
            case .managedKey(let id?): return [form: "aws:kms", key: id]
            }
        }
    }

    /// Whether a store does what it is there for.
    package enum Health: Sendable, Equatable {
        case good
        /// It does not answer, or is not well.
        case away
        /// It answers, and serves this service not: the key or the bucket is wrong. With what it says.
        case refused(String)
    }

    private let client: S3Client

    /// - Parameter session: Carries the requests; it follows no redirects and keeps nothing.
    package init(_ configuration: Configuration, session: Session) async throws(StoreError) {
        client = S3Client(configuration, session: session)
        try await FilePlace.wrap("The staging directory cannot be made.") {
            try await FilePlace.make(FilePath(configuration.stagingDirectory))
        }
    }

    /// The configuration of the session that carries the store's requests.
    package static func sessionConfiguration(_ standard: SessionConfiguration) -> SessionConfiguration {
        var configuration = standard
        configuration.redirects.policy = .return
        configuration.removeStorages()
        configuration.automaticallyDecodesContent = false
        configuration.httpMaximumConnectionsPerHost = 64
        // The operator has named the store: it may be inside the network that jobs may not reach.
        configuration.targetPolicy = .unrestricted
        return configuration
    }

    package var volume: Volume { .shared }

    package func health() async -> Health { await client.examine() }

    /// The same of a store that is not used.
    package static func health(of configuration: Configuration, session: Session) async -> Health {
        await S3Client(configuration, session: session).examine()
    }

    package func create() async throws(StoreError) -> any BlobWriter { S3BlobWriter(store: self, client: client) }

    package func open(_ id: Blob.ID, range: Range<Int64>) async throws(StoreError) -> any BlobReader {
        guard !range.isEmpty else {
            try await require(id)
            return S3BlobReader(client, id, range, body: nil)
        }
        return S3BlobReader(client, id, range, body: try await client.read("\(id)", range))
    }

    /// - Throws: `blobGone` when there is no such blob.
    fileprivate func require(_ id: Blob.ID) async throws(StoreError) {
        do throws(StoreError) { _ = try await client.send(.head, "\(id)") } catch {
            guard error.code == .blobGone else { throw error }
            // An answer to HEAD does not tell an object that is not there from a bucket that is not.
            guard await client.examine() == .good else {
                throw StoreError(.blobAway, "The object store does not serve its bucket.")
            }
            throw error
        }
    }

    package func url(of id: Blob.ID, answering fields: HTTPFields) async throws(StoreError) -> String? {
        try await client.presignedURL(
            of: "\(id)",
            [
                (name: "response-content-type", value: fields[.contentType] ?? "application/octet-stream"),
                (name: "response-content-disposition", value: fields[.contentDisposition] ?? "attachment"),
            ]
        ).description
    }

    package func delete(_ id: Blob.ID) async throws(StoreError) {
        do throws(StoreError) { _ = try await client.send(.delete, "\(id)") } catch {
            // A blob that is gone already counts as deleted.
            guard error.code == .blobGone else { throw error }
        }
    }

    package func adopt(fileAt path: String, _ digest: SHA256Digest?) async throws(StoreError) -> MeasuredBlob {
        var draft = try await BlobDraft(in: self, digest)
        do {
            let bytes = try await FileSystem.shared.info(forFileAt: FilePath(path))?.size ?? 0
            let reader = FileBlobReader(
                file: try await FileSystem.shared.openFile(forReadingAt: FilePath(path)), range: 0..<bytes)
            while let chunk = try await reader.next() { try await draft.append(chunk) }
            let blob = try await draft.finish()
            _ = try await FileSystem.shared.removeItem(at: FilePath(path))
            return blob
        } catch {
            await draft.abandon()
            throw StoreError(file: error, "A file cannot be made a blob.")
        }
    }

    package func file(of id: Blob.ID, bytes: Int64) async throws(StoreError) -> BlobFile {
        let reader = try await open(id, range: 0..<bytes)
        return try await FilePlace.copy(reader, of: id, into: FilePath(client.configuration.stagingDirectory))
    }

    package func removeUnfinished(begunBefore time: Timestamp) async throws(StoreError) {
        try await FilePlace.removeFiles(in: FilePath(client.configuration.stagingDirectory), writtenBefore: time)
        let prefix = client.configuration.prefix
        let query = [(name: "prefix", value: prefix + Blob.Kind.prefix), (name: "uploads", value: "")]
        let page = XMLText(try await client.send(.get, "", query).text)
        let limit = UUIDv7(earliestAt: time)
        // Uploads that are not on this page are removed the next time.
        for (key, upload) in zip(page.texts(of: "Key"), page.texts(of: "UploadId")) {
            guard let id = Blob.ID(key.dropFirst(prefix.count)), id.uuid < limit else { continue }
            _ = try await client.send(.delete, "\(id)", [(name: "uploadId", value: upload)])
        }
    }

    package func forEach(_ visit: @Sendable ([Blob.ID]) async throws(StoreError) -> Void) async throws(StoreError) {
        let prefix = client.configuration.prefix
        var token: String?
        repeat {
            var query = [("list-type", "2"), ("prefix", prefix + Blob.Kind.prefix)]
            if let token { query.append(("continuation-token", token)) }
            let page = XMLText(try await client.send(.get, "", query.map { (name: $0.0, value: $0.1) }).text)
            try await visit(page.texts(of: "Key").compactMap { Blob.ID($0.dropFirst(prefix.count)) })
            token = page.texts(of: "NextContinuationToken").first
        } while token != nil
    }
}

/// Sends one object: whole when it has no more than one part, otherwise in parts.
private actor S3BlobWriter: BlobWriter {
    /// The least that S3 takes is 5 MiB.
    private static let partBytes = 8 << 20
    /// What an object has in memory: most have no more.
    private static let memoryBytes = 256 << 10
    /// S3 takes 10 000 parts: later ones are larger.
    private static let partsPerSize = 1000

    let id = Blob.ID(in: .shared)
    private let store: S3BlobStore
    private let client: S3Client
    /// The bytes for those who read them while more come: the store gives none before the object is whole.
    private var copy: FileBlobWriter?
    private var buffer: [UInt8] = []
    /// The bytes before these that were not sent yet.
    private var part: PartFile?
    private var uploadID: String?
    private var tags: [String] = []

    init(store: S3BlobStore, client: S3Client) {
        self.store = store
        self.client = client
    }

    func growReadably() async throws(StoreError) -> Bool {
        let path = FilePath(client.configuration.stagingDirectory).appending("\(id)-growing")
        do { copy = try await FileBlobWriter(id: id, temporary: path, final: path) } catch {
            throw StoreError(writing: error, "A copy of a blob cannot be made.")
        }
        return true
    }

    func openGrowing() async throws(StoreError) -> any GrowingBody {
        guard let copy else { return WholeBody(id, in: store) }
        return try await copy.openGrowing()
    }

    private func removeCopy() async { await copy.take()?.abandon() }

    func write(_ bytes: [UInt8]) async throws(StoreError) {
        try await copy?.write(bytes)
        buffer += bytes
        try await keep(upTo: Self.memoryBytes)
    }

    /// Brings bytes to the file of the next part until no more than so many are left, and sends each part that is full.
    private func keep(upTo limit: Int) async throws(StoreError) {
        while true {
            let size = Self.partBytes << (tags.count / Self.partsPerSize)
            if let part, await part.count >= size {
                try await send(part)
                continue
            }
            guard buffer.count > limit else { return }
            let part = try await openPart()
            let bytes = Array(buffer.prefix(size - (await part.count)))
            try await part.append(bytes)
            buffer.removeFirst(bytes.count)
        }
    }

    private func openPart() async throws(StoreError) -> PartFile {
        if let part { return part }
        let new = try await PartFile(FilePath(client.configuration.stagingDirectory).appending("\(id)-part"))
        part = new
        return new
    }

    /// Sends a part, which stays until it is there.
    private func send(_ full: PartFile) async throws(StoreError) {
        let upload: String
        if let uploadID {
            upload = uploadID
        } else {
            let answer = try await client.send(
                .post, "\(id)", [(name: "uploads", value: "")], headers: client.newObject)
            guard let new = XMLText(answer.text).texts(of: "UploadId").first else {
                throw StoreError(.blob, "The object store begins no upload.")
            }
            upload = new
            uploadID = new
        }
        let query = [(name: "partNumber", value: "\(tags.count + 1)"), (name: "uploadId", value: upload)]
        let answer = try await client.send(.put, "\(id)", query, body: try await content(of: full))
        guard let tag = answer.headers[.eTag] else {
            throw StoreError(.blob, "The object store tells no tag of a part.")
        }
        tags.append(tag)
        await removePart()
    }

    private func content(of part: PartFile) async throws(StoreError) -> S3Client.Content {
        .file(part.path.string, digest: try await part.finish())
    }

    private func removePart() async { await part.take()?.remove() }

    func finish() async throws(StoreError) {
        if part != nil || uploadID != nil { try await keep(upTo: 0) }
        if let uploadID {
            if let part { try await send(part) }
            try await complete(uploadID)
        } else if let part {
            _ = try await client.send(.put, "\(id)", body: try await content(of: part), headers: client.newObject)
            await removePart()
        } else {
            _ = try await client.send(.put, "\(id)", body: .bytes(buffer), headers: client.newObject)
        }
        buffer = []
        await removeCopy()
    }

    private func complete(_ uploadID: String) async throws(StoreError) {
        let parts = tags.enumerated().map { number, tag in
            "<Part><PartNumber>\(number + 1)</PartNumber><ETag>\(tag.replacing("\"", with: "&quot;"))</ETag></Part>"
        }
        let list = "<CompleteMultipartUpload>\(parts.joined())</CompleteMultipartUpload>"
        let answer: S3Client.Answer
        do throws(StoreError) {
            answer = try await client.send(
                .post, "\(id)", [(name: "uploadId", value: uploadID)], body: .bytes(Array(list.utf8)))
        } catch {
            guard error.code == .blobGone else { throw error }
            // An upload is gone once it is complete: the answer to an earlier request was lost.
            return try await store.require(id)
        }
        // S3 may report an error after it has begun a successful response.
        guard !answer.text.contains("<Error>") else {
            throw StoreError(.blobAway, "The object store cannot complete an upload now.")
        }
    }

    func abandon() async {
        await removeCopy()
        await removePart()
        guard let uploadID else { return }
        // Nobody refers to the parts: leftovers cost room only.
        _ = try? await client.send(.delete, "\(id)", [(name: "uploadId", value: uploadID)])
    }
}

/// Goes on with another request where an answer breaks off.
private actor S3BlobReader: BlobReader {
    /// How often it does without one byte in between.
    private static let tries = 3

    private let client: S3Client
    private let id: Blob.ID
    private var range: Range<Int64>
    private var bytes: ResponseBody.Iterator?
    private var breaks = 0

    init(_ client: S3Client, _ id: Blob.ID, _ range: Range<Int64>, body: ResponseBody?) {
        self.client = client
        self.id = id
        self.range = range
        bytes = body?.makeAsyncIterator()
    }

    func next() async throws(StoreError) -> [UInt8]? {
        while !range.isEmpty {
            var iterator: ResponseBody.Iterator
            if let bytes {
                iterator = bytes
            } else {
                iterator = try await client.read("\(id)", range).makeAsyncIterator()
            }
            var reason: LoadError?
            do throws(LoadError) {
                if let chunk = try await iterator.next(isolation: self), chunk.count <= range.count {
                    bytes = iterator
                    breaks = 0
                    range = (range.lowerBound + Int64(chunk.count))..<range.upperBound
                    return chunk
                }
            } catch { reason = error }
            bytes = nil
            breaks += 1
            guard breaks < Self.tries, !Task.isCancelled else {
                throw StoreError(.blobAway, "The object store stops in the middle of a blob.", underlying: reason)
            }
        }
        return nil
    }
}
