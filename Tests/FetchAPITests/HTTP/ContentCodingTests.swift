import FetchJobs
import Foundation
import HTTPTypes
import NIOCore
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct ContentCodingTests {
    @Test(
        arguments: [
            (nil, false), ("", false), ("gzip", true), ("GZIP", true), ("br, gzip;q=0.5", true), ("gzip;q=0", false),
            ("gzip; q=0.0, *", false), ("*", true), ("*;q=0", false), ("identity", false), ("deflate, br", false),
            ("gzip;q=x", false), ("gzip;q=2", false), ("gzip;q=nan", false), ("gzip;level=1", false), ("x-gzip", true),
            ("gzip;q=0.4, identity;q=0.5", false), ("gzip;q=0.5, identity;q=0.5", true), ("gzip;q=0.1, *;q=0.9", true),
            (",,;,gzip", true),
        ] as [(String?, Bool)])
    func `gzip is sent to clients that take it and would not rather have none`(field: String?, isTaken: Bool) {
        var headers = HTTPFields()
        headers[.acceptEncoding] = field
        #expect(ContentCoding.accepts(headers) == isTaken)
    }

    @Test func `only routes that are there are compressed`() async throws {
        let server = try await TestServer()
        let authenticator = Authenticator(store: server.keys, limiter: FailureLimiter(limit: 1, totalLimit: 1))
        let routes = Server.routes(server.ports, server.configuration, authenticator).filter { $0.method == .get }
        #expect(ContentCoding.paths.subtracting(routes.map(\.path)).isEmpty)
        // What has contents of origins, or secrets of their clients.
        for part in ["cookies", "credentials", "cache", "questions", "jobs/{id}", "deliveries/{id}", "sign-in"] {
            #expect(!ContentCoding.paths.contains { $0.contains(part) }, "\(part)")
        }
    }

    @Test func `documents, lists and metrics are compressed, and say that they depend on it`() async throws {
        let server = try await TestServer()
        for _ in 0..<40 { _ = try await server.queueJob() }
        let paths = [
            "/docs", "/docs/docs.js", "/docs/schemas/Job", "/openapi.yaml", "/openapi.json", "/dashboard/style.css",
            "/v1/jobs?limit=40", "/metrics",
        ]
        try await server.test { call in
            for path in paths {
                let plain = try await call(.get, path)
                #expect(plain.headers[.contentEncoding] == nil && plain.headers[.vary] == "Accept-Encoding", "\(path)")
                let packed = try await call(.get, path, headers: [.acceptEncoding: "gzip, br"])
                #expect(packed.headers[.contentEncoding] == "gzip" && packed.headers[.vary] == "Accept-Encoding")
                #expect(packed.bytes.count * 2 < plain.bytes.count, "\(path)")
                let head = try await call(.head, path, headers: [.acceptEncoding: "gzip"])
                #expect(head.headers[.contentEncoding] == "gzip" && head.bytes.isEmpty)
                // Metrics tell of these requests.
                guard path != "/metrics" else { continue }
                #expect(head.headers[.contentLength] == String(packed.bytes.count), "\(path)")
                #expect(try Self.unpacked(packed.bytes) == plain.bytes, "\(path)")
                // The tag of two forms is weak, and good for both.
                let tag = try #require(packed.headers[.eTag], "\(path)")
                #expect(tag.hasPrefix("W/\"") && tag.trimmingPrefix("W/") == plain.headers[.eTag]?.trimmingPrefix("W/"))
                for coding in ["gzip", "identity"] {
                    let same = try await call(.get, path, headers: [.ifNoneMatch: tag, .acceptEncoding: coding])
                    #expect(same.status == .notModified && same.bytes.isEmpty, "\(path)")
                    #expect(same.headers[.contentEncoding] == nil && same.headers[.vary] == "Accept-Encoding")
                }
            }
        }
    }

    @Test func `a list that depends on more says so too`() async throws {
        let server = try await TestServer()
        let (_, token) = try await server.keys.create(name: "auditor", tenant: "test", scopes: .all)
        try await server.test { call in
            let list = try await call.with("Bearer \(token.revealed)")(.get, "/v1/audit")
            #expect(list.status == .ok && list.headers[.vary] == "Accept, Accept-Encoding")
        }
    }

    @Test func `what is short, streamed, stored, refused or about one thing goes as it is`() async throws {
        let server = try await TestServer()
        for _ in 0..<40 { _ = try await server.queueJob() }
        try await server.test { call in
            let gzip: HTTPFields = [.acceptEncoding: "gzip"]
            for path in ["/healthz", "/v1/jobs?limit=1", "/v1/jobs/export", "/v1/nothing"] {
                #expect(try await call(.get, path, headers: gzip).headers[.contentEncoding] == nil, "\(path)")
            }
            let labels = (0..<30).map { #""label\#($0)": "\#(String(repeating: "x", count: 100))""# }
            let body = #"{"request": {"url": "https://a.example/"}, "labels": {\#(labels.joined(separator: ","))}}"#
            let path = try #require(try await call(.post, "/v1/jobs", body: body).headers[.location])
            let job = try await call(.get, path, headers: gzip)
            #expect(job.status == .ok && job.bytes.count > ContentCoding.minimumBytes)
            #expect(job.headers[.contentEncoding] == nil && job.headers[.vary] == nil)
            let text = String(repeating: #"{"a": 1}"#, count: 500)
            let made = try await call(.post, "/v1/blobs", headers: [.contentType: "application/json"], body: text)
            let blob = try await call(.get, try #require(made.headers[.location]), headers: gzip)
            #expect(blob.headers[.contentType] == "application/json" && blob.headers[.contentEncoding] == nil)
            #expect(blob.text == text)
        }
    }

    @Test(arguments: [0, 1, 1023, 65_536, 65_537, 1 << 20])
    func `what is compressed is one member that holds the same bytes`(count: Int) throws {
        var generator = SystemRandomNumberGenerator()
        let random = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        for bytes in [random, [UInt8](repeating: 65, count: count)] {
            let packed = try #require(ContentCoding.gzip(ByteBuffer(bytes: bytes)))
            #expect(try Self.unpacked(Array(packed.readableBytesView)) == bytes)
        }
    }

    /// The bytes as gzip, the program, reads them.
    private static func unpacked(_ bytes: [UInt8]) throws -> [UInt8] {
        let directory = try TemporaryDirectory()
        try Data(bytes).write(to: URL(filePath: directory.file("page.gz")))
        let gzip = Process()
        gzip.executableURL = URL(filePath: "/usr/bin/gzip")
        gzip.arguments = ["-d", directory.file("page.gz")]
        try gzip.run()
        gzip.waitUntilExit()
        return Array(try Data(contentsOf: URL(filePath: directory.file("page"))))
    }
}
