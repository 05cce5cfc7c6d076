import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Jobs whose responses are several, one replacing the other.
@Suite(.timeLimit(.minutes(2))) struct ReplacedPartsTests {
    private static let large = String(decoding: pattern(100_000).map { $0 % 26 + 97 }, as: UTF8.self)

    private static let body =
        "--b\r\nContent-Type: text/plain\r\nX-Part: 1\r\n\r\nfirst\r\n"
        + "--b\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n\(large)\r\n"
        + "--b\r\nContent-Type: image/jpeg\r\n\r\nlast\r\n--b--\r\n"

    private func origin() throws -> WireOrigin {
        try WireOrigin(
            playing: "HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=b\r\n"
                + "Content-Length: \(Self.body.utf8.count)\r\n\r\n\(Self.body)")
    }

    private func fetch(_ service: ServiceProcess, _ url: String, _ keeping: String?) async throws -> [String: Any] {
        let setting = keeping.map { #", "configuration": {"response": {"multipartReplace": "\#($0)"}}"# } ?? ""
        return try await service.fetch(url, more: setting)
    }

    // The former parts' data is dropped.
    // Proves: MPR-1, MPR-2.
    @Test(arguments: ["last", nil]) func `the last part is the response, as in a browser`(keeping: String?) async throws
    {
        let origin = try origin()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let job = try await fetch(service, origin.url(), keeping)
            #expect(member(job, "state") == "succeeded")
            #expect(member(job, "response", "mimeType") == "image/jpeg")
            #expect(member(job, "response", "part") == 3)
            let href = try #require(member(job, "body", "href", as: String.self))
            let body = try await service.request(.get, href)
            #expect(body.text == "last")
            #expect(body.headers[.contentType] == "image/jpeg")
        }
    }

    // Parts that do not replace one another are one body, whatever the rule for those that do.
    // Proves: MPR-5.
    @Test(arguments: ["mixed", "byteranges", "related"])
    func `a body of another multipart type is left as it is`(_ kind: String) async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            _ = try connection.receiveHead()
            try connection.send(
                "HTTP/1.1 206 Partial\r\nContent-Type: multipart/\(kind); boundary=b\r\n"
                    + "Content-Length: \(Self.body.utf8.count)\r\n\r\n\(Self.body.prefix(70_000))")
            try gate.wait()
            try connection.send(String(Self.body.dropFirst(70_000)))
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let answer = try await service.request(
                .post, "/v1/jobs",
                body:
                    #"{"request": {"url": "\#(origin.url())", "headers": [{"name": "Range", "value": "bytes=0-1,3-4"}]}, "#
                    + #""configuration": {"response": {"multipartReplace": "all"}}}"#)
            let id = try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
            var text = ""
            for try await chunk in try await service.stream("/v1/jobs/\(id)/events").0 {
                text += String(decoding: chunk, as: UTF8.self)
                if text.contains("event: job.response\n") { gate.open() }
            }
            #expect(text.components(separatedBy: "event: job.response\n").count == 2, "\(text)")
            let job = try await service.job(id) { member($0, "state") == "succeeded" }
            #expect(member(job, "response", "mimeType") == "multipart/\(kind)")
            #expect(member(job, "response", "parts", as: [Any].self) == nil)
            let href = try #require(member(job, "body", "href", as: String.self))
            #expect(try await service.request(.get, href).text == Self.body)
        }
    }

    // Every part has its place, which a range request reads.
    // Proves: MPR-1, MPR-2, MPR-4.
    @Test func `all parts are kept one after the other`() async throws {
        let origin = try origin()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let job = try await fetch(service, origin.url(), "all")
            #expect(member(job, "response", "mimeType") == "multipart/x-mixed-replace")
            let parts = try #require(member(job, "response", "parts", as: [[String: Any]].self))
            let types = parts.compactMap { member($0, "mimeType", as: String.self) }
            #expect(types == ["text/plain", "text/html", "image/jpeg"])
            #expect(parts.compactMap { member($0, "offset", as: Int.self) } == [0, 5, 100_005])
            #expect(parts.compactMap { member($0, "bytes", as: Int.self) } == [5, 100_000, 4])
            #expect(member(parts[0], "headers", "1", "value") == "1")
            let href = try #require(member(job, "body", "href", as: String.self))
            let second = try await service.request(.get, href, headers: [.range: "bytes=5-100004"])
            #expect(second.status == 206 && second.text == Self.large)
            let session = try await service.request(.post, "/v1/sessions", body: #"{"kind": "ephemeral"}"#)
            let id = try #require(member(session.json, "id", as: String.self))
            let ephemeral = try await service.fetch(
                origin.url(),
                more: #", "session": "\#(id)", "configuration": {"response": {"multipartReplace": "all"}}"#)
            #expect(member(ephemeral, "body", "bytes") == 100_009)
        }
    }

    // Each part has a response event of its own, in order, while the connection is open.
    // Proves: MPR-1, RSP-8, LIF-16.
    @Test func `each part is told when it comes`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            _ = try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=b\r\n\r\n")
            try connection.send(Self.body)
            try gate.wait()
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let answer = try await service.request(
                .post, "/v1/jobs", body: #"{"request": {"url": "\#(origin.url())"}}"#)
            let id = try #require(member(answer.json, "id", as: String.self))
            let (body, _) = try await service.stream("/v1/jobs/\(id)/events")
            var text = ""
            for try await chunk in body {
                text += String(decoding: chunk, as: UTF8.self)
                if text.components(separatedBy: "event: job.response\n").count == 4 { gate.open() }
            }
            let told = text.components(separatedBy: "event: job.response\n").dropFirst().map {
                $0.prefix { $0 != "\n" }
            }
            #expect(told.count == 3)
            for (line, (part, type)) in zip(told, [(1, "text/plain"), (2, "text/html"), (3, "image/jpeg")]) {
                #expect(line.contains("\"part\":\(part)}") && line.contains("\"mimeType\":\"\(type)\""), "\(text)")
            }
            // The expected length is told of each part anew.
            #expect(told.map { $0.contains("\"expectedContentLength\":100000") } == [false, true, false])
            let job = try await service.job(id) { member($0, "state") == "succeeded" }
            #expect(member(job, "response", "part") == 3)
        }
    }
}
