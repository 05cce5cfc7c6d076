import FetchEngine
import FetchJobs
import FetchStorage
import Foundation
import Synchronization
import Testing

@Suite struct FileDownloadAreaTests {
    private func with(_ body: (FileDownloadArea, _ directory: String) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "area-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await body(try await FileDownloadArea(directory: directory), directory)
    }

    /// Resume data of a file of so many bytes, with one trusted byte.
    private func data(in directory: String, bytes: Int) throws -> ResumeData {
        let path = directory + "/.fetch.part"
        try Data(repeating: 7, count: bytes).write(to: URL(filePath: path))
        var writer = ResumeDataText()
        writer.append("https://o.example/f", "https://o.example/f", "1", "1000", "e\"v1\"", "", path, "identity")
        return try ResumeData(bytes: writer.bytes)
    }

    @Test func `within one boot all bytes of the file count`() async throws {
        try await with { area, _ in
            let job = Job.ID()
            do {
                let place = try await area.open(job)
                #expect(place.resumeData == nil)
                try await area.checkpoint(try data(in: place.directory, bytes: 500), of: job)
            }
            #expect(try await area.open(job).resumeData?.byteCount == 500)
            #expect(try await area.jobs() == [job])
            try await area.remove(job)
            #expect(try await area.jobs().isEmpty)
        }
    }

    @Test func `a place waits for a lock while a third of the descriptors are locks`() async throws {
        try await with { _, directory in
            let budget = DescriptorBudget(limit: 6)
            let area = try await FileDownloadArea(directory: directory, descriptors: budget)
            let first = Mutex<DownloadPlace?>(try await area.open(Job.ID()))
            let second = try await area.open(Job.ID())
            #expect(budget.used == 2)
            async let third = area.open(Job.ID())
            try await Task.sleep(for: .milliseconds(200))
            #expect(budget.used == 2)
            first.withLock { $0 = nil }
            let places = [second, try await third]
            #expect(budget.used == places.count)
        }
    }

    @Test func `a place that is not wanted any more is not waited for`() async throws {
        try await with { _, directory in
            let budget = DescriptorBudget(limit: 3)
            let area = try await FileDownloadArea(directory: directory, descriptors: budget)
            let place = try await area.open(Job.ID()) { false }
            await #expect(throws: StoreError.self) { try await area.open(Job.ID()) { false } }
            withExtendedLifetime(place) {}
        }
    }

    // Proves: REL-7.
    @Test func `after a loss of power those count that were synced`() async throws {
        try await with { area, _ in
            let job = Job.ID()
            let place = try await area.open(job).directory
            try await area.checkpoint(try data(in: place, bytes: 500), of: job)
            let path = place + "/checkpoint"
            var stored = try Data(contentsOf: URL(filePath: path))
            // Another boot.
            stored[0] = stored[0] == UInt8(ascii: "0") ? UInt8(ascii: "1") : UInt8(ascii: "0")
            try stored.write(to: URL(filePath: path))
            #expect(try await area.open(job).resumeData?.byteCount == 1)
        }
    }

    @Test func `a checkpoint that is damaged, or whose file is gone or elsewhere, is none`() async throws {
        try await with { area, directory in
            let job = Job.ID()
            let place = try await area.open(job).directory
            let data = try data(in: place, bytes: 500)
            try await area.checkpoint(data, of: job)
            try FileManager.default.removeItem(atPath: data.path)
            #expect(try await area.open(job).resumeData == nil)
            try await area.checkpoint(try self.data(in: directory, bytes: 500), of: job)
            #expect(try await area.open(job).resumeData == nil)
            try Data([1, 2, 3]).write(to: URL(filePath: place + "/checkpoint"))
            #expect(try await area.open(job).resumeData == nil)
        }
    }

    // Two attempts, of which one does not know yet that it has lost the job, never write one file.
    @Test func `a place that another attempt still has is begun anew`() async throws {
        try await with { area, directory in
            let job = Job.ID()
            let late = try await area.open(job)
            let data = try data(in: late.directory, bytes: 500)
            try await area.checkpoint(data, of: job)
            let other = try await FileDownloadArea(directory: directory)
            let place = try await other.open(job)
            #expect(place.resumeData == nil)
            #expect(!FileManager.default.fileExists(atPath: data.path))
            await #expect(throws: StoreError.self) { try await area.checkpoint(data, of: job) }
            withExtendedLifetime((late, place)) {}
        }
    }
}

/// Writes resume data as the engine does: fields with their lengths before them, and a digest.
private struct ResumeDataText {
    private var content = Array("FRSM".utf8) + [2]

    mutating func append(_ fields: String...) {
        for field in fields {
            content += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: field.utf8.count >> $0) } + Array(field.utf8)
        }
    }

    var bytes: [UInt8] { content + SHA256Digest(of: content).bytes }
}
