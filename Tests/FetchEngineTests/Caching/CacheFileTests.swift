import Glibc
import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

@Suite struct CacheFileTests {
    private static func entry(_ body: [UInt8]) throws -> CacheEntry {
        let request = try Request.make(.get, "http://h.test/a?b", "Accept: x")
        let response = Response(
            url: request.url, status: .init(code: 203, reasonPhrase: "So So"),
            headerFields: .init(lines: ["Vary: Accept", "X: 1", "X: 2", "Empty:"]), httpVersion: "h2",
            expectedContentLength: Int64(body.count))
        var entry = CacheEntry(for: response, to: request, sentAt: sendingTime, receivedAt: sendingTime + 1)!
        entry.userInfo = ["a": "b", "ü": ""]
        entry.bodyLength = Int64(body.count)
        return entry
    }

    /// The one file of a directory that holds an entry with this body.
    private static func file(_ body: [UInt8], in directory: TemporaryDirectory) async throws -> (CacheEntry, String) {
        let entry = try entry(body)
        let files = CacheDirectory(path: directory.path, capacity: 1 << 20)
        await files.store(entry, body: body)
        let name = CacheFileName.name(of: entry)
        return (entry, "entries/\(name.prefix(2))/\(name)")
    }

    // Proves: CCH-13, CCH-18.
    @Test func `an entry is read as it was written`() throws {
        let entry = try Self.entry([1, 2, 3])
        let read = try #require(CacheEntry(bytes: entry.bytes[...]))
        #expect(read.key == entry.key && read.id == entry.id && read.selection == entry.selection)
        #expect(read.requestTime == entry.requestTime && read.responseTime == entry.responseTime)
        #expect(read.userInfo == entry.userInfo && read.bodyLength == 3)
        #expect(read.response.status == entry.response.status)
        #expect(read.response.status.reasonPhrase == "So So")
        #expect(read.response.headerFields == entry.response.headerFields)
        #expect(read.response.httpVersion == "h2")
        #expect(read.response.url == entry.response.url)
    }

    @Test func `any bytes may be read as an entry`() throws {
        let whole = try Self.entry([1, 2, 3]).bytes
        for count in 0..<whole.count { #expect(CacheEntry(bytes: whole[..<count]) == nil) }
        for index in whole.indices {
            for bit in 0..<8 {
                var damaged = whole
                damaged[index] ^= 1 << bit
                _ = CacheEntry(bytes: damaged[...])
            }
        }
    }

    // The file ends at each of its bytes, and has each of them wrong.
    // Proves: CCH-21.
    @Test func `a file that is not whole is no entry, and goes`() async throws {
        let directory = try TemporaryDirectory()
        let (entry, name) = try await Self.file(pattern(100), in: directory)
        let whole = directory.contents(of: name)
        #expect(whole.count > 100)
        for count in 0..<whole.count {
            try directory.write(Array(whole[..<count]), to: name)
            #expect(await Self.found(entry, in: directory) == nil)
            #expect(directory.contents(of: name).isEmpty)
        }
        for index in whole.indices {
            var damaged = whole
            damaged[index] ^= 0x10
            try directory.write(damaged, to: name)
            let body = await Self.found(entry, in: directory)
            #expect(body == nil || body == pattern(100))
        }
        try directory.write(whole + [0], to: name)
        #expect(await Self.found(entry, in: directory) == nil)
        try directory.write(whole, to: name)
        #expect(await Self.found(entry, in: directory) == pattern(100))
    }

    // Proves: CCH-21.
    @Test func `a large body that was damaged on the disk is not given`() async throws {
        let directory = try TemporaryDirectory()
        let (entry, name) = try await Self.file(pattern(500_000), in: directory)
        var content = directory.contents(of: name)
        let files = CacheDirectory(path: directory.path, capacity: 1 << 20)
        #expect(await files.entries(for: entry.key).first?.body == nil)
        #expect(await files.reader(for: entry) != nil)
        content[300_000] ^= 1
        try directory.write(content, to: name)
        let others = CacheDirectory(path: directory.path, capacity: 1 << 20)
        #expect(await others.entries(for: entry.key).count == 1)
        #expect(await others.reader(for: entry) == nil)
        #expect(directory.contents(of: name).isEmpty)
    }

    /// The body that a new process would find.
    private static func found(_ entry: CacheEntry, in directory: TemporaryDirectory) async -> [UInt8]? {
        let files = CacheDirectory(path: directory.path, capacity: 1 << 20)
        guard let (found, body) = await files.entries(for: entry.key).first, found.id == entry.id else { return nil }
        return body
    }
}
