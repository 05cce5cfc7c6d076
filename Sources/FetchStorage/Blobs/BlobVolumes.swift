package import FetchJobs
import FetchRuntime
package import HTTPTypes
import NIOFileSystem
import SystemPackage

/// The blobs of all nodes: each is read where its bytes are, which its id tells.
package struct BlobVolumes: BlobStore {
    private let main: any BlobStore
    private let own: FileBlobStore
    private let nodes: NodeBlobs
    private let stagingDirectory: FilePath

    /// - Parameters:
    ///   - main: Where new blobs go; nil for the directory.
    ///   - own: The blobs in this node's data directory, which may be from a time before there was an object store.
    ///   - nodes: The blobs of other nodes.
    ///   - stagingDirectory: Where copies of them are made for readers that need files.
    package init(
        main: (any BlobStore)? = nil, own: FileBlobStore, nodes: NodeBlobs, stagingDirectory: String
    ) async throws(StoreError) {
        self.main = main ?? own
        self.own = own
        self.nodes = nodes
        self.stagingDirectory = FilePath(stagingDirectory)
        try await FilePlace.wrap("The staging directory cannot be made.") {
            try await FilePlace.make(FilePath(stagingDirectory))
        }
    }

    package var volume: Volume { main.volume }

    /// The store on this side that has a volume; nil when another node has it.
    private func store(of volume: Volume) throws(StoreError) -> (any BlobStore)? {
        if volume == main.volume { return main }
        if volume == own.volume { return own }
        guard volume != .shared else {
            throw StoreError(
                .blobAway, "The bytes are in an object store that this node was not told of (S3_ENDPOINT).")
        }
        return nil
    }

    package func create() async throws(StoreError) -> any BlobWriter { try await main.create() }

    package func open(_ id: Blob.ID, range: Range<Int64>) async throws(StoreError) -> any BlobReader {
        guard let store = try store(of: id.volume) else { return try await nodes.open(id, range: range) }
        return try await store.open(id, range: range)
    }

    package func url(of id: Blob.ID, answering fields: HTTPFields) async throws(StoreError) -> String? {
        try await store(of: id.volume)?.url(of: id, answering: fields)
    }

    package func delete(_ id: Blob.ID) async throws(StoreError) {
        guard let store = try store(of: id.volume) else { return try await nodes.delete(id) }
        try await store.delete(id)
    }

    package func adopt(fileAt path: String, _ digest: SHA256Digest?) async throws(StoreError) -> MeasuredBlob {
        try await main.adopt(fileAt: path, digest)
    }

    package func file(of id: Blob.ID, bytes: Int64) async throws(StoreError) -> BlobFile {
        if let store = try store(of: id.volume) { return try await store.file(of: id, bytes: bytes) }
        let reader = try await nodes.open(id, range: 0..<bytes)
        return try await FilePlace.copy(reader, of: id, into: stagingDirectory)
    }

    package func removeUnfinished(begunBefore time: Timestamp) async throws(StoreError) {
        try await FilePlace.removeFiles(in: stagingDirectory, writtenBefore: time)
        try await own.removeUnfinished(begunBefore: time)
        if main.volume != own.volume { try await main.removeUnfinished(begunBefore: time) }
    }

    package func forEach(_ visit: @Sendable ([Blob.ID]) async throws(StoreError) -> Void) async throws(StoreError) {
        try await own.forEach(visit)
        if main.volume != own.volume { try await main.forEach(visit) }
    }
}

/// The blobs in the data directories of other nodes, asked for over the network.
///
/// A node answers such a request by what it has itself, never by asking a third one.
package struct NodeBlobs: Sendable {
    /// How long the other node may be silent.
    private static let patience = Duration.seconds(30)

    private let directory: any NodeDirectory
    private let client: any NodeClient
    private let secret: @Sendable () async throws(StoreError) -> SessionSecret

    /// - Parameter secret: What all nodes sign with.
    package init(
        directory: any NodeDirectory, client: any NodeClient,
        secret: @escaping @Sendable () async throws(StoreError) -> SessionSecret
    ) {
        self.directory = directory
        self.client = client
        self.secret = secret
    }

    func open(_ id: Blob.ID, range: Range<Int64>) async throws(StoreError) -> any BlobReader {
        let answer = try await ask(.read, id, query: "?from=\(range.lowerBound)&to=\(range.upperBound)")
        return NodeBlobReader(answer: answer, count: Int64(range.count))
    }

    /// Removes a blob.
    ///
    /// A node that is away finds it without a row when it looks through its directory.
    func delete(_ id: Blob.ID) async throws(StoreError) {
        do throws(StoreError) { _ = try await ask(.delete, id) } catch {
            guard [.blobAway, .blobGone].contains(error.code) else { throw error }
        }
    }

    private func ask(_ purpose: BlobPass.Purpose, _ id: Blob.ID, query: String = "") async throws(StoreError)
        -> NodeAnswer
    {
        guard let node = try await directory.node(with: id.volume) else {
            throw StoreError(.blobAway, "The node that keeps the bytes does not run (volume \(id.volume)).")
        }
        guard let url = node.url else {
            throw StoreError(
                .blobAway, "The node that keeps the bytes, \(node.id), has told no address (FETCHD_NODE_URL).")
        }
        let pass = BlobPass(to: purpose, id).text(try await secret())
        let request = NodeRequest(
            method: purpose == .read ? .get : .delete, target: "/nodes/blobs/\(id)\(query)",
            headers: [.authorization: "Bearer \(pass)"], patience: Self.patience)
        let answer: NodeAnswer
        do { answer = try await client.send(request, to: url) } catch {
            throw StoreError(
                .blobAway, "The node that keeps the bytes, \(node.id), does not answer.", underlying: error)
        }
        switch answer.status.code {
        case 200, 204: return answer
        // Only a node says it so: something else may have the address meanwhile.
        case 404 where answer.headers[.contentType] == "application/problem+json":
            throw StoreError(.blobGone, "There is no such blob any more.")
        default:
            throw StoreError(
                .blobAway, "The node that keeps the bytes, \(node.id), answers with the status \(answer.status.code).")
        }
    }
}

private actor NodeBlobReader: BlobReader {
    private let answer: NodeAnswer
    private var left: Int64

    init(answer: NodeAnswer, count: Int64) {
        self.answer = answer
        left = count
    }

    func next() async throws(StoreError) -> [UInt8]? {
        guard left > 0 else { return nil }
        let bytes: [UInt8]?
        do { bytes = try await answer.next() } catch {
            throw StoreError(.blobAway, "The node that keeps the bytes has stopped to send them.", underlying: error)
        }
        guard let bytes, Int64(bytes.count) <= left else {
            throw StoreError(.blobAway, "The node that keeps the bytes sends another number of them.")
        }
        left -= Int64(bytes.count)
        return bytes
    }
}
