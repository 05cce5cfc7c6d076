import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// What sessions leave on the disk, and what they do not.
@Suite(.timeLimit(.minutes(1))) struct PersistenceTests {
    private static let answer =
        "HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Max-Age=600\r\nCache-Control: max-age=600\r\nContent-Length: 2\r\n\r\nhi"

    // SES-2, SES-24
    @Test func `a persistent session takes up the cookies and answers of the one before`() async throws {
        let (origin, directory) = (try WireOrigin(playing: Self.answer), try TemporaryDirectory())
        for path in ["/a", "/a", "/b"] {
            let configuration = try SessionConfiguration.persistent(
                in: directory.file("store"), memoryCapacity: 16_384, diskCapacity: 268_435_456)
            let session = Session(configuration: configuration)
            _ = try await session.data(for: Request(url: try URLRecord(origin.url(path))))
            session.finishTasksAndInvalidate()
            let cache = try #require(configuration.urlCache as? DiskResponseCache)
            #expect(cache.memoryCapacity == 16_384 && cache.diskCapacity == 268_435_456)
            await cache.flush()
        }
        let heads = origin.connections.map { String(decoding: $0.received, as: UTF8.self) }
        #expect(heads.count == 2)
        #expect(heads[0].hasPrefix("GET /a ") && !heads[0].contains("Cookie:"))
        #expect(heads[1].hasPrefix("GET /b ") && heads[1].contains("\r\nCookie: a=1\r\n"))
        #expect(try directory.names() == ["store"])
    }

    // SES-2
    @Test func `a place that cannot be used, or cookies that cannot be read, are errors`() throws {
        let directory = try TemporaryDirectory()
        #expect { try SessionConfiguration.persistent(in: directory.file("no/such")) } throws: {
            ($0 as? LoadError)?.code == .cannotCreateFile
        }
        try directory.write("not cookies", to: "store/cookies")
        #expect { try SessionConfiguration.persistent(in: directory.file("store")) } throws: {
            ($0 as? LoadError)?.code == .cannotDecodeRawData
        }
    }
}
