import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Jobs whose URLs are neither http nor https.
@Suite struct SchemeTests {
    // Proves: NET-4, NET-3, SEC-8.
    @Test func `a data URL is a job without a transfer`() async throws {
        try await ServiceProcess.with(allowing: []) { service in
            let job = try await service.fetch("data:text/plain;charset=utf-8,hello%20there")
            #expect(member(job, "state") == "succeeded")
            #expect(member(job, "response", "mimeType") == "text/plain")
            let href = try #require(member(job, "body", "href", as: String.self))
            #expect(try await service.request(.get, href).text == "hello there")
            let file = try await service.request(
                .post, "/v1/jobs", body: #"{"request": {"url": "file:///etc/passwd"}}"#)
            #expect(file.status == 422)
            #expect(file.text.contains("SCHEMES_FILE") && file.text.contains("/request/url"))
            let ftp = try await service.request(.post, "/v1/jobs", body: #"{"request": {"url": "ftp://a.example/"}}"#)
            #expect(ftp.status == 422 && ftp.text.contains("SCHEMES_FTP"))
        }
        try await ServiceProcess.with(allowing: [], settings: ["SCHEMES_DATA": "false"]) { service in
            let data = try await service.request(.post, "/v1/jobs", body: #"{"request": {"url": "data:,x"}}"#)
            #expect(data.status == 422 && data.text.contains("SCHEMES_DATA"))
        }
    }

    // As long as any URL may be, and no byte longer.
    // Proves: NET-4.
    @Test func `a data URL has a largest size`() async throws {
        try await ServiceProcess.with(allowing: []) { service in
            let longest = "data:," + String(repeating: "x", count: 16_384 - 6)
            let job = try await service.fetch(longest)
            #expect(member(job, "body", "bytes") == 16_384 - 6, "\(job["error"] ?? "")")
            let refused = try await service.request(.post, "/v1/jobs", body: #"{"request": "\#(longest)x"}"#)
            #expect(refused.status == 422, "\(refused.text)")
            #expect(member(refused.json, "errors", "0", "pointer", as: String.self)?.hasPrefix("/request") == true)
        }
    }

    // Proves: NET-3, RED-12, SEC-8.
    @Test func `a file URL names a file of the tenant's own folder, and nothing else`() async throws {
        let settings = ["SCHEMES_FILE": "true"]
        let origin = try WireOrigin(
            playing: "HTTP/1.1 302 F\r\nLocation: file:///own.txt\r\nContent-Length: 0\r\n\r\n")
        let rules = ["127.0.0.1:\(origin.port)"]
        try await ServiceProcess.Place.with(allowing: rules, settings: settings) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let own = place.directory + "/files/1/reports"
            let other = place.directory + "/files/2"
            for folder in [own, other] {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            }
            try "mine".write(toFile: own + "/a b.txt", atomically: true, encoding: .utf8)
            try "mine".write(toFile: place.directory + "/files/1/own.txt", atomically: true, encoding: .utf8)
            try "not mine".write(toFile: other + "/secret.txt", atomically: true, encoding: .utf8)
            try FileManager.default.createSymbolicLink(
                atPath: own + "/link.txt", withDestinationPath: other + "/secret.txt")
            let job = try await service.fetch("file:///reports/a%20b.txt")
            #expect(member(job, "state") == "succeeded")
            #expect(member(job, "response", "url") == "file:///reports/a%20b.txt")
            let href = try #require(member(job, "body", "href", as: String.self))
            #expect(try await service.request(.get, href).text == "mine")
            let ways = [
                "/../2/secret.txt", "/reports/..%2F..%2F2/secret.txt", "/reports/link.txt", "/2/secret.txt",
                other + "/secret.txt",
            ]
            for way in ways {
                let refused = try await service.fetch("file://\(way)")
                #expect(member(refused, "state") == "failed", "\(way)")
                #expect(!"\(refused)".contains(place.directory) || way.hasPrefix(place.directory), "\(way)")
            }
            let led = try await service.fetch(origin.url())
            #expect(member(led, "response", "status", as: Int.self) != 200)
            #expect(try await service.stop() == 0)
        }
    }
}
