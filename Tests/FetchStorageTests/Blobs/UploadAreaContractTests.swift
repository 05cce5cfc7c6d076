import FetchJobs
import FetchRuntime
import FetchStorage
import TestSupport
import Testing

/// The uploads in the service's directory and those of a test keep the same promises.
@Suite struct UploadAreaContractTests {
    @Test("the uploads of a test keep the promise", arguments: UploadAreaContract.clauses)
    func memory(_ clause: Clause<any UploadArea>) async throws {
        #expect(try await clause.differences(in: MemoryUploadArea()) == [])
    }

    @Test("the uploads in files keep the promise", arguments: UploadAreaContract.clauses)
    func files(_ clause: Clause<any UploadArea>) async throws {
        let directory = try TemporaryDirectory()
        let area = try await FileUploadArea(directory: directory.path, volume: .new(), unfinished: UnfinishedUploads())
        #expect(try await clause.differences(in: area) == [])
    }
}
