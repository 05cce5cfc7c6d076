import FetchJobs
import FetchRuntime
import FetchStorage
import TestSupport
import Testing

@Suite struct FileUploadAreaTests {
    @Test func `a new process finds what an upload has so far, and its terms`() async throws {
        let directory = try TemporaryDirectory()
        let (tenant, volume) = (Tenant.ID(rawValue: 1), Volume.new())
        let upload = Upload(
            id: Upload.ID(in: volume), tenant: tenant, contentType: "text/plain", expiresAt: nil, length: 10)
        let area = try await FileUploadArea(
            directory: directory.path, volume: volume, unfinished: UnfinishedUploads())
        try await area.create(upload)
        let writer = try await area.open(upload, at: 0)
        try await writer.write(Array("hello".utf8))
        try await writer.close()
        let other = try await FileUploadArea(
            directory: directory.path, volume: volume, unfinished: UnfinishedUploads())
        let found = try #require(try await other.upload(upload.id, of: tenant))
        #expect(found.offset == 5)
        #expect(found.upload.contentType == "text/plain" && found.upload.length == 10)
    }

    // Proves: SEC-44.
    @Test func `what uploads hold is known as they grow and go, and to a new process`() async throws {
        let directory = try TemporaryDirectory()
        let (tenant, volume) = (Tenant.ID(rawValue: 1), Volume.new())
        let uploads = (0..<2).map { _ in
            Upload(id: Upload.ID(in: volume), tenant: tenant, contentType: nil, expiresAt: nil, length: nil)
        }
        let unfinished = UnfinishedUploads()
        let area = try await FileUploadArea(directory: directory.path, volume: volume, unfinished: unfinished)
        for upload in uploads {
            try await area.create(upload)
            let writer = try await area.open(upload, at: 0)
            try await writer.write(Array("hello".utf8))
            try await writer.close()
        }
        #expect(unfinished.bytes(of: tenant) == 10 && unfinished.count(of: tenant) == 2)
        try await area.open(uploads[0], at: 2).close()
        #expect(unfinished.bytes(of: tenant) == 7)

        let later = UnfinishedUploads()
        let other = try await FileUploadArea(directory: directory.path, volume: volume, unfinished: later)
        #expect(later.bytes(of: tenant) == 7 && later.count(of: tenant) == 2)
        for _ in 0..<2 { try await other.remove(uploads[0].id, of: tenant) }
        #expect(later.bytes(of: tenant) == 5 && later.count(of: tenant) == 1)
        try await other.remove(begunBefore: .now.advanced(by: .seconds(60)))
        #expect(later.bytes(of: tenant) == 0 && later.count(of: tenant) == 0)
    }

    @Test func `nothing is written to an upload that was removed`() async throws {
        let directory = try TemporaryDirectory()
        let (tenant, volume, unfinished) = (Tenant.ID(rawValue: 1), Volume.new(), UnfinishedUploads())
        let upload = Upload(
            id: Upload.ID(in: volume), tenant: tenant, contentType: nil, expiresAt: nil, length: nil)
        let area = try await FileUploadArea(directory: directory.path, volume: volume, unfinished: unfinished)
        try await area.create(upload)
        let writer = try await area.open(upload, at: 0)
        try await writer.write(Array("hello".utf8))
        try await area.remove(upload.id, of: tenant)
        await #expect { try await writer.write(Array("more".utf8)) } throws: { ($0 as? StoreError)?.code == .blobGone }
        try await writer.close()
        #expect(unfinished.bytes(of: tenant) == 0 && unfinished.count(of: tenant) == 0)
    }
}
