import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

/// The contract of handlers, tried on each built-in one.
@Suite struct HandlerContractTests {
    /// A handler with a request that it serves and one that it takes and cannot serve.
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let handler: any ProtocolHandler
        let good: URLRecord
        let bad: URLRecord
        let file: TemporaryFile?

        var testDescription: String { name }
    }

    static func cases() throws -> [Case] {
        let file = try TemporaryFile(pattern(100_000))
        let root = try #require(FileRoot("/tmp"))
        return [
            Case(
                name: "data", handler: DataHandler(), good: try URLRecord("data:,hello"),
                bad: try URLRecord("data:hello"), file: nil),
            Case(
                name: "file", handler: FileHandler(roots: [root]), good: try URLRecord("file://" + file.path),
                bad: try URLRecord("file:///tmp/no-such-file"), file: file),
        ]
    }

    // Proves: PRT-5.
    @Test(arguments: try cases())
    func `it takes its scheme alone`(_ entry: Case) throws {
        #expect(entry.handler.canHandle(Request(url: entry.good)))
        for other in ["http://h/", "https://h/", "x:y", "ftp://h/"] {
            #expect(!entry.handler.canHandle(Request(url: try URLRecord(other))))
        }
    }

    // Proves: PRT-5.
    @Test(arguments: try cases())
    func `its standard form is stable and equivalent to the request`(_ entry: Case) throws {
        let request = Request(url: entry.good)
        let canonical = entry.handler.canonicalRequest(for: request)
        #expect(entry.handler.canonicalRequest(for: canonical).url == canonical.url)
        #expect(entry.handler.isEquivalent(canonical, canonical))
        #expect(!entry.handler.isEquivalent(canonical, Request(url: entry.bad)))
    }

    // Proves: PRT-7.
    @Test(arguments: try cases())
    func `it tells one response, then its data, and returns`(_ entry: Case) async throws {
        let client = RecordingClient()
        try await entry.handler.load(Request(url: entry.good), client: client)
        let record = client.record
        #expect(record.events.first == "response 200")
        #expect(record.events.dropFirst().allSatisfy { $0 == "data" })
        #expect(record.response?.url == entry.good)
        #expect(record.response?.expectedContentLength == Int64(record.body.count))
        #expect(record.response?.mimeType != nil)
    }

    // Proves: ERR-1.
    @Test(arguments: try cases())
    func `it throws for what it cannot load, with no response`(_ entry: Case) async throws {
        let client = RecordingClient()
        do throws(LoadError) {
            try await entry.handler.load(Request(url: entry.bad), client: client)
            Issue.record("it did not fail")
        } catch {
            #expect(error.code != .unknown)
        }
        #expect(client.record.events == [])
    }

    // Proves: PRT-5.
    @Test(arguments: try cases())
    func `it stops at once when the load is over`(_ entry: Case) async throws {
        for limit in 0..<2 {
            let client = RecordingClient(limit: limit)
            await expect(.cancelled) { try await entry.handler.load(Request(url: entry.good), client: client) }
            #expect(client.record.events.count == limit)
        }
    }

    @Test(arguments: try cases())
    func `it refuses methods that would change something`(_ entry: Case) async throws {
        for method in [HTTPRequest.Method.post, .put, .delete] {
            let request = Request(url: entry.good, method: method)
            await expect(.methodInvalid) { try await entry.handler.load(request, client: RecordingClient()) }
        }
    }
}
