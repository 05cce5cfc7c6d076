import FetchJobs
import FetchStorage
import TestSupport
import Testing

/// The blobs in files and those in memory keep the same promises.
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
}
