import FetchJobs
import FetchStorage
import Foundation
import Testing

@Suite struct FileUploadAreaTests {
    @Test func `an upload grows, is cut back, and is its tenant's`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "uploads-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let area = try await FileUploadArea(directory: directory)
        let (mine, other) = (Tenant.ID(rawValue: 1), Tenant.ID(rawValue: 2))
        let upload = Upload(tenant: mine, contentType: "text/plain", expiresAt: nil, length: 10)
        try await area.create(upload)
        let writer = try await area.open(upload, at: 0)
        try await writer.write(Array("hello".utf8))
        try await writer.close()
        // A second area over the same directory: what a new process finds.
        let found = try #require(try await FileUploadArea(directory: directory).upload(upload.id, of: mine))
        #expect(found.offset == 5)
        #expect(found.upload.contentType == "text/plain")
        #expect(found.upload.length == 10)
        #expect(try await area.upload(upload.id, of: other) == nil)
        try await area.open(upload, at: 2).close()
        #expect(try await area.upload(upload.id, of: mine)?.offset == 2)
        try await area.remove(begunBefore: .now.advanced(by: .seconds(-60)))
        #expect(try await area.upload(upload.id, of: mine) != nil)
        try await area.remove(begunBefore: .now.advanced(by: .seconds(60)))
        #expect(try await area.upload(upload.id, of: mine) == nil)
    }
}
