import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Downloads whose bytes a handler gives.
@Suite struct HandlerDownloadTests {
    private struct Given: ProtocolHandler {
        let content: [UInt8]
        var failure: LoadError?

        func canHandle(_ request: Request) -> Bool { request.url.scheme == "given" }

        func load(_ request: Request, client: any ProtocolClient) async throws(LoadError) {
            let response = Response(
                url: request.url, status: .ok, headerFields: [.contentType: "text/plain"], httpVersion: "given",
                expectedContentLength: Int64(content.count))
            try await client.received(response, storagePolicy: .notAllowed)
            var rest = content[...]
            while !rest.isEmpty {
                try await client.received(Array(rest.prefix(50_000)))
                rest = rest.dropFirst(50_000)
            }
            if let failure { throw failure }
        }
    }

    private static func session(_ handler: Given) -> Session {
        var configuration = SessionConfiguration()
        configuration.protocolHandlers = [handler]
        return Session(configuration: configuration)
    }

    // Proves: PRT-10.
    @Test(arguments: [0, 1, 300_000])
    func `a download through a handler writes a file`(_ count: Int) async throws {
        let request = Request(url: try URLRecord("given:a/name.txt"))
        let file = try await Self.session(Given(content: pattern(count))).download(for: request)
        #expect(file.byteCount == Int64(count))
        #expect(file.response.httpVersion == "given")
        #expect(TemporaryFile.contents(of: file.path) == pattern(count))
    }

    @Test func `a handler that fails fails the download, with a completion handler too`() async throws {
        let handler = Given(content: pattern(100_000), failure: LoadError(.networkConnectionLost, "It broke off."))
        let request = Request(url: try URLRecord("given:a"))
        await expect(.networkConnectionLost) { try await Self.session(handler).download(for: request) }
        let session = Self.session(handler)
        let result = await withCheckedContinuation { continuation in
            session.downloadTask(with: request) { continuation.resume(returning: $0) }.resume()
        }
        #expect(throws: LoadError.self) { try result.get() }
    }

    @Test func `data: URLs can be downloaded`() async throws {
        let file = try await Session().download(for: Request(url: try URLRecord("data:,hello")))
        #expect(TemporaryFile.contents(of: file.path) == Array("hello".utf8))
    }
}

extension TemporaryFile {
    /// All bytes of a file; nil when it cannot be read.
    fileprivate static func contents(of path: String) -> [UInt8]? {
        FileManager.default.contents(atPath: path).map(Array.init)
    }
}
