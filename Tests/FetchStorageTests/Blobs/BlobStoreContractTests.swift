import FetchEngine
import FetchJobs
import FetchStorage
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The blobs in files, in an object store and in memory keep the same promises.
@Suite struct BlobStoreContractTests {
    @Test("the blobs in memory keep the promise", arguments: BlobStoreContract.clauses)
    func memory(_ clause: Clause<any BlobStore>) async throws {
        #expect(try await clause.differences(in: MemoryBlobStore()) == [])
    }

    @Test("the blobs in files keep the promise", arguments: BlobStoreContract.clauses)
    func files(_ clause: Clause<any BlobStore>) async throws {
        let directory = try TemporaryDirectory()
        #expect(try await clause.differences(in: FileBlobStore(directory: directory.path)) == [])
    }

    @Test("the blobs of all nodes keep the promise", arguments: BlobStoreContract.clauses)
    func volumes(_ clause: Clause<any BlobStore>) async throws {
        let (directory, nodes) = (try TemporaryDirectory(), MemoryNodes())
        let store = try await BlobVolumes(
            own: FileBlobStore(directory: directory.path + "/blobs"),
            nodes: NodeBlobs(directory: nodes, client: nodes) { SessionSecret() },
            stagingDirectory: directory.path + "/staging")
        #expect(try await clause.differences(in: store) == [])
    }

    @Test("the blobs in an object store keep the promise", arguments: BlobStoreContract.clauses)
    func s3(_ clause: Clause<any BlobStore>) async throws {
        let server = try await S3Store()
        let directory = try TemporaryDirectory()
        let store = try await S3BlobStore(
            S3BlobStore.Configuration(
                origin: server.url(""), bucket: try await server.bucket(), keys: .fixed("key", "secret"),
                stagingDirectory: directory.path),
            session: Session(configuration: S3BlobStore.sessionConfiguration(.default)))
        #expect(try await clause.differences(in: store) == [])
    }
}
