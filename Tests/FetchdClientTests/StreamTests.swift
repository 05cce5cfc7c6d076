import FetchEngine
import Foundation
import Testing

@testable import FetchdClient

/// Events and bodies over connections that break.
@Suite(.timeLimit(.minutes(1))) struct StreamTests {
    private static func stream(_ text: String) -> String {
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n\(text)"
    }

    @Test func `events go on behind the last one, and one that was cut off comes again`() async throws {
        let origin = try ServiceOrigin(
            Self.stream("retry: 1\nid: 1.1\nevent: job.started\ndata: {\"attempt\": 1}\n\nid: 1.2\nevent: job.resp"),
            Self.stream(
                ":\n\nid: 1.2\r\nevent: job.response\r\ndata: {\"status\":\r\ndata: 200}\r\n\r\nevent: job.progress\n"
                    + "data: {}\n\nid: final\nevent: job.finished\ndata: {\"id\": \"job_1\", \"state\": \"succeeded\"}\n\n"
            ))
        var seen: [String] = []
        for try await event in origin.service.jobs.events("job_1") { seen.append("\(event.id ?? "-") \(event.type)") }
        #expect(seen == ["1.1 job.started", "1.2 job.response", "- job.progress", "final job.finished"])
        #expect(origin.values(of: "Last-Event-ID") == ["", "1.1"])
    }

    @Test func `the events of all jobs go on behind the last one, and do not end with a job`() async throws {
        let event = { (id: String) in "id: \(id)\nevent: job.finished\ndata: {\"type\": \"job.finished\"}\n\n" }
        let origin = try ServiceOrigin(
            Self.stream("retry: 1\n" + event("evt_1") + event("evt_2")), Self.stream(event("evt_3")))
        var seen: [String] = []
        for try await event in origin.service.events(after: "evt_0") {
            seen.append(event.id ?? "-")
            if seen.count == 3 { break }
        }
        #expect(seen == ["evt_1", "evt_2", "evt_3"])
        #expect(origin.values(of: "Last-Event-ID") == ["evt_0", "evt_2"])
        #expect(origin.heads.allSatisfy { $0.hasPrefix("GET /v1/events HTTP/1.1") })
    }

    @Test func `a client that has the end hears nothing more`() async throws {
        let origin = try ServiceOrigin("HTTP/1.1 204 No Content\r\n\r\n")
        for try await event in origin.service.jobs.events("job_1", after: "final") { Issue.record("\(event)") }
        #expect(origin.values(of: "Last-Event-ID") == ["final"])
    }

    private static func body(_ bytes: String, length: Int, _ status: String, digest: String) -> String {
        "HTTP/1.1 \(status)\r\nContent-Length: \(length)\r\nETag: \"t\"\r\nRepr-Digest: \(digest)\r\n"
            + "Connection: close\r\n\r\n\(bytes)"
    }

    private static func digest(_ text: String) -> String {
        "sha-256=:\(Data(ContentDigest.sha256.digest(of: Array(text.utf8))).base64EncodedString()):"
    }

    @Test func `a body that breaks off goes on where it was`() async throws {
        let digest = Self.digest("hello world")
        let origin = try ServiceOrigin(
            Self.body("hello ", length: 11, "200 OK", digest: digest),
            Self.body("world", length: 5, "206 Partial Content", digest: digest))
        #expect(try await origin.service.jobs.data("job_1") == Array("hello world".utf8))
        #expect(origin.values(of: "Range") == ["", "bytes=6-"])
        #expect(origin.values(of: "If-Range") == ["", "\"t\""])
    }

    @Test func `a body that begins anew is given once`() async throws {
        let digest = Self.digest("hello world")
        let origin = try ServiceOrigin(
            Self.body("hello ", length: 11, "200 OK", digest: digest),
            Self.body("hello world", length: 11, "200 OK", digest: digest))
        #expect(try await origin.service.jobs.data("job_1") == Array("hello world".utf8))
    }

    @Test func `a body that is not the stored one fails at its end`() async throws {
        let digest = Self.digest("hello world")
        let origin = try ServiceOrigin(
            Self.body("hello ", length: 11, "200 OK", digest: digest),
            Self.body("earth", length: 5, "206 Partial Content", digest: digest))
        let error = await #expect(throws: FetchdError.self) { _ = try await origin.service.jobs.data("job_1") }
        #expect(error?.code == .contentDigestMismatch)
    }

    @Test func `an event may come in any pieces`() throws {
        let text = Array("id: 1.1\r\nevent: a\r\ndata: {\"n\": 1}\r\n\r\nid: 1.2\nevent: b\ndata: {}\n\n".utf8)
        for size in 1...text.count {
            var (parser, seen) = (EventParser(), [String]())
            for start in stride(from: 0, to: text.count, by: size) {
                parser.add(Array(text[start..<min(start + size, text.count)]))
                while let event = try parser.next() { seen.append("\(event.id ?? "") \(event.type)") }
            }
            #expect(seen == ["1.1 a", "1.2 b"])
        }
    }
}
