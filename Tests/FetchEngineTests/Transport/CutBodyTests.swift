import FetchEngine
import Glibc
import HTTPTypes
import TestSupport
import Testing

/// Bodies without a length that end before their end.
@Suite struct CutBodyTests {
    /// HTTP/2 frames: length, type, flags, stream, payload.
    static func frame(_ type: UInt8, _ flags: UInt8, _ stream: UInt8, _ payload: [UInt8] = []) -> [UInt8] {
        [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, stream] + payload
    }

    private static let ends: [[UInt8]] = [
        frame(0, 1, 1), frame(0, 1, 1) + frame(7, 0, 0, [0, 0, 0, 1, 0, 0, 0, 0]),
        frame(1, 5, 1, [0x00, 1, 0x61, 1, 0x62]), frame(0, 1, 1) + frame(6, 0, 0, [0]),
    ]

    private static let cuts: [(String, [UInt8])] = [
        ("RST_STREAM with NO_ERROR", frame(3, 0, 1, [0, 0, 0, 0])),
        ("RST_STREAM with INTERNAL_ERROR", frame(3, 0, 1, [0, 0, 0, 2])),
        ("RST_STREAM with REFUSED_STREAM", frame(3, 0, 1, [0, 0, 0, 7])),
        ("PING on a stream", frame(6, 0, 1, [UInt8](repeating: 0, count: 8))),
        ("a short PING", frame(6, 0, 0, [0, 0, 0])),
        ("a header block that cannot be decoded", frame(1, 4, 1, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])),
        ("trailers that cannot be decoded", frame(1, 5, 1, [0xBF])),
        ("GOAWAY and a fault", frame(7, 0, 0, [0, 0, 0, 1, 0, 0, 0, 1]) + frame(6, 0, 0, [0])),
        ("GOAWAY that excludes it", frame(7, 0, 0, [0, 0, 0, 0, 0, 0, 0, 0])),
        ("DATA on an idle stream", frame(0, 0, 3, [1])),
        ("a window of 0", frame(8, 0, 1, [0, 0, 0, 0])),
        ("SETTINGS of 5 bytes", frame(4, 0, 0, [0, 0, 0, 0, 0])),
        ("CONTINUATION of nothing", frame(9, 4, 1, [0x88])),
    ]

    /// An origin that answers the first stream of each connection with 200, some of a body, and then this.
    ///
    /// - Parameter staying: Whether it keeps the connection until the client closes it.
    private static func origin(ending frames: [UInt8], staying: Bool = false) throws -> WireOrigin {
        try WireOrigin { connection in
            try connection.receive(24)
            // The cache may keep it: `:status: 200`, `cache-control: max-age=60` of RFC 7541's static table by a
            // literal.
            let head: [UInt8] = [0x88, 0x58, 10] + Array("max-age=60".utf8)
            try connection.send(frame(4, 0, 0) + frame(1, 4, 1, head) + frame(0, 0, 1, Array("part".utf8)))
            try connection.send(frames)
            if staying { try connection.receiveToEnd() }
            // libcurl waits for more after most faults.
            usleep(20_000)
        }
    }

    private func load(_ origin: WireOrigin) async throws -> [UInt8] {
        var configuration = SessionConfiguration()
        configuration.httpVersion = .http2
        configuration.urlCache = MemoryResponseCache()
        let session = Session(configuration: configuration)
        defer { session.invalidateAndCancel() }
        return try await session.data(for: Request(url: try URLRecord(origin.url()))).0
    }

    // RFC 9113 §8.1: END_STREAM ends a message, and nothing else does.
    // Proves: ERR-5.
    @Test(arguments: cuts)
    func `a body of HTTP/2 that is cut is no answer`(_ name: String, _ frames: [UInt8]) async throws {
        let origin = try Self.origin(ending: frames)
        await #expect(throws: LoadError.self, "\(name)") { try await load(origin) }
    }

    // RFC 9113 §5.4.1: after an error of the connection nothing comes that is worth a wait.
    // Proves: ERR-5.
    @Test(.timeLimit(.minutes(1)), arguments: cuts)
    func `a fault of HTTP/2 ends the load although the server keeps the connection`(_ name: String, _ frames: [UInt8])
        async throws
    {
        let origin = try Self.origin(ending: frames, staying: true)
        let start = ContinuousClock.now
        await #expect(throws: LoadError.self, "\(name)") { try await load(origin) }
        // A load that gets no bytes is idle for a minute.
        #expect(ContinuousClock.now - start < .seconds(50), "\(name)")
    }

    @Test(arguments: ends)
    func `what follows the end of a stream takes nothing from its body`(_ frames: [UInt8]) async throws {
        #expect(try await load(try Self.origin(ending: frames)) == Array("part".utf8))
    }

    // RFC 9112 §9.8
    // Proves: ERR-5.
    @Test(arguments: [TLSWire.Version.tls12, .tls13])
    func `only TLS says that a body is whole that the end of the connection ends`(_ version: TLSWire.Version)
        async throws
    {
        let authority = try await TestAuthority()
        let leaf = try await authority.issue("server")
        for isEnded in [true, false] {
            let origin = try WireOrigin { connection in
                let tls = try TLSWire(connection, leaf, version)
                _ = tls.receiveHead()
                try tls.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npart")
                if isEnded { tls.sendEnd() }
            }
            var configuration = SessionConfiguration()
            configuration.tls.anchors = .pem(authority.certificate)
            let session = Session(configuration: configuration)
            defer { session.invalidateAndCancel() }
            let request = Request(url: try URLRecord("https://localhost:\(origin.port)/"))
            if isEnded {
                #expect(try await session.data(for: request).0 == Array("part".utf8))
            } else {
                await expect(.networkConnectionLost) { try await session.data(for: request).0 }
            }
        }
    }

    // RFC 9111 §3.3: nobody can tell such a body from one that was cut.
    @Test func `a body that the end of a connection without TLS ends is not kept`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\npart")
        }
        var configuration = SessionConfiguration()
        configuration.urlCache = MemoryResponseCache()
        let session = Session(configuration: configuration)
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 {
            #expect(try await session.data(for: Request(url: try URLRecord(origin.url()))).0 == Array("part".utf8))
        }
        #expect(origin.connections.count == 2)
    }
}
