import FetchJobs
import FetchStorage
import TestSupport
import Testing

@Suite struct FileUploadAreaTests {
    @Test func `a new process finds what an upload has so far, and its terms`() async throws {
        let directory = try TemporaryDirectory()
        let (tenant, volume) = (Tenant.ID(rawValue: 1), Volume.new())
        let upload = Upload(
            id: Upload.ID(in: volume), tenant: tenant, contentType: "text/plain", expiresAt: nil, length: 10)
        let area = try await FileUploadArea(directory: directory.path, volume: volume)
        try await area.create(upload)
        let writer = try await area.open(upload, at: 0)
        try await writer.write(Array("hello".utf8))
        try await writer.close()
        let other = try await FileUploadArea(directory: directory.path, volume: volume)
        let found = try #require(try await other.upload(upload.id, of: tenant))
        #expect(found.offset == 5)
        #expect(found.upload.contentType == "text/plain" && found.upload.length == 10)
    }
}
