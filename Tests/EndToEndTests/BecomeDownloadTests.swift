import FetchEngine
import FetchJobs
import Foundation
import Glibc
import HTTPTypes
import TestSupport
import Testing

/// Data jobs whose responses make downloads of them.
@Suite(.timeLimit(.minutes(2))) struct BecomeDownloadTests {
    private func job(_ url: String, _ rule: String, more: String = "") -> String {
        #"{"request": {"url": "\#(url)"}, "configuration": {"response": {"becomeDownload": \#(rule)\#(more)}}}"#
    }

    private func fetch(_ service: ServiceProcess, _ job: String) async throws -> [String: Any] {
        let answer = try await service.request(.post, "/v1/jobs", body: job, headers: [.prefer: "wait=30"])
        try #require(answer.status == 201, "\(answer.text)")
        return answer.json
    }

    private func content(of job: [String: Any], _ service: ServiceProcess) async throws -> [UInt8] {
        try await service.request(.get, try #require(member(job, "body", "href", as: String.self))).body
    }

    // One request, no byte lost, and from then on a download like any other.
    // Proves: LIF-7, DLD-4, TSK-15.
    @Test(arguments: [#"{"aboveBytes": 100000}"#, #"{"mimeTypes": ["video/*", "application/octet-stream"]}"#])
    func `a data job becomes a download in the same transfer`(rule: String) async throws {
        let bytes = pattern(3_000_000)
        let directory = try TemporaryDirectory()
        let server = try await LoopbackServer.nginx(in: directory)
        try Data(bytes).write(to: URL(filePath: directory.file("root/big.bin")))
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(server.port)"]) { service in
            let job = try await fetch(service, job("http://127.0.0.1:\(server.port)/big.bin", rule))
            #expect(member(job, "state") == "succeeded")
            #expect(member(job, "kind") == "download")
            #expect(member(job, "file", "filename") == "big.bin")
            #expect(member(job, "body", "digest") == SHA256Digest(of: bytes).field)
            #expect(try await content(of: job, service) == bytes)
        }
        #expect(try await server.accessLog(1).filter { $0.contains("GET /big.bin") }.count == 1)
    }

    // The length of a response that announces none is what comes.
    // Proves: LIF-7, LIF-6.
    @Test func `a small or other body stays one, and the rest become files`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let body = String(repeating: "x", count: head.contains("GET /long") ? 70_000 : 300)
                try connection.send(
                    "HTTP/1.1 200 OK\r\nContent-Type: Text/Plain\r\nTransfer-Encoding: chunked\r\n\r\n"
                        + "\(String(body.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n")
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            for (path, rule, kind) in [
                ("/a", #"{"aboveBytes": 300}"#, "data"), ("/a", #"{"aboveBytes": 299}"#, "download"),
                ("/a", #"{"mimeTypes": ["text/html"]}"#, "data"), ("/a", #"{"mimeTypes": ["text/*"]}"#, "download"),
                ("/a", "{}", "data"), ("/long", #"{"aboveBytes": 69999}"#, "download"), ("/long", "{}", "data"),
            ] {
                let job = try await fetch(service, job(origin.url(path), rule))
                #expect(member(job, "kind") == kind, "\(path) \(rule)")
                #expect((member(job, "file", "blob", as: String.self) != nil) == (kind == "download"))
                #expect(try await content(of: job, service).count == (path == "/a" ? 300 : 70_000))
            }
        }
    }

    // A retry goes on with the bytes that are there.
    // Proves: LIF-7, DLD-14, DLD-15.
    @Test func `what a data job has become is told, and resumed after a lost connection`() async throws {
        let (content, count) = (pattern(400_000), Progress())
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                guard count.add(1) > 1 else {
                    try connection.send("HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 400000\r\n\r\n")
                    return try connection.send(Array(content[..<200_000]))
                }
                let range = try #require(head.firstMatch(of: /range: bytes=([0-9]+)-/.ignoresCase()))
                let start = try #require(Int(range.output.1))
                #expect(head.contains("If-Range: \"e\"") && start > 0)
                try connection.send(
                    "HTTP/1.1 206 P\r\nETag: \"e\"\r\nContent-Range: bytes \(start)-399999/400000\r\n"
                        + "Content-Length: \(400_000 - start)\r\n\r\n")
                try connection.send(Array(content[start...]))
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let body = #"""
                {"request": {"url": "\#(origin.url("/f.bin"))"}, "configuration": {
                    "response": {"becomeDownload": {"aboveBytes": 1000}},
                    "retry": {"maximumAttempts": 2, "backoff": {"initial": 0.01}}}}
                """#
            let submitted = try await service.request(.post, "/v1/jobs", body: body)
            let id = try #require(member(submitted.json, "id", as: String.self), "\(submitted.text)")
            let job = try await service.job(id) { member($0, "state") == "succeeded" }
            #expect(member(job, "kind") == "download")
            #expect(member(job, "attempts", "1", "state") == "succeeded")
            #expect(try await self.content(of: job, service) == content)
            #expect(count.value == 2)
        }
    }

    // Like any download, it goes on with the bytes that are there.
    // Proves: LIF-7, DLD-16.
    @Test func `a data job that has become a download goes on after its node was killed`() async throws {
        let (content, count, gate) = (pattern(400_000), Progress(), Gate())
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                guard count.add(1) > 1 else {
                    try connection.send("HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 400000\r\n\r\n")
                    try connection.send(Array(content[..<200_000]))
                    return try gate.wait()
                }
                let range = try #require(head.firstMatch(of: /range: bytes=([0-9]+)-/.ignoresCase()))
                let start = try #require(Int(range.output.1))
                try connection.send(
                    "HTTP/1.1 206 P\r\nETag: \"e\"\r\nContent-Range: bytes \(start)-399999/400000\r\n"
                        + "Content-Length: \(400_000 - start)\r\n\r\n")
                try connection.send(Array(content[start...]))
            }
        }
        let (rules, settings) = (["127.0.0.1:\(origin.port)"], ["WORKER_LEASE_SECONDS": "1"])
        try await ServiceProcess.Place.with(allowing: rules, settings: settings) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let rule = #"{"aboveBytes": 1000}"#
            let answer = try await first.request(.post, "/v1/jobs", body: job(origin.url("/f.bin"), rule))
            let id = try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
            let files = "\(place.directory)/downloads/\(id)"
            try await until { FileManager.default.fileExists(atPath: "\(files)/checkpoint") }
            first.send(SIGKILL)
            #expect(try await first.waitForEnd() == -SIGKILL)
            gate.open()
            let second = try await ServiceProcess.start(place, key: key)
            let job = try await second.job(id) { member($0, "state") == "succeeded" }
            #expect(member(job, "kind") == "download" && lastTransfer(of: job) == 206)
            #expect(try await self.content(of: job, second) == content)
            #expect(count.value == 2)
            #expect(try await second.stop() == 0)
        }
    }

    // Proves: LIF-7, RSP-7.
    @Test func `the event says when a job becomes a download, after its response`() async throws {
        let (content, gate) = (pattern(500_000), Gate())
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 500000\r\n\r\n")
                try connection.send(Array(content[..<300_000]))
                try gate.wait()
                try connection.send(Array(content[300_000...]))
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let rule = #"{"mimeTypes": ["video/mp4"]}"#
            let answer = try await service.request(.post, "/v1/jobs", body: job(origin.url("/film"), rule))
            let id = try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
            let (body, _) = try await service.stream("/v1/jobs/\(id)/events")
            var text = ""
            for try await chunk in body {
                text += String(decoding: chunk, as: UTF8.self)
                if text.contains("event: job.response") { gate.open() }
            }
            let event = try #require(text.range(of: "event: job.becameDownload\ndata: {\"mimeType\":\"video/mp4\""))
            #expect(text[..<event.lowerBound].contains("event: job.response"))
            #expect(!text[event.upperBound...].contains("event: job.response"))
            #expect(text.contains("\"filename\":\"film\""))
        }
    }

    @Test func `rules that cannot be are refused by name`() async throws {
        try await ServiceProcess.with(allowing: []) { service in
            let wrong = try await service.request(
                .post, "/v1/jobs", body: job("http://a.example/", #"{"mimeTypes": ["text"], "above": 1}"#))
            #expect(wrong.status == 422)
            #expect(wrong.text.contains("/configuration/response/becomeDownload/mimeTypes/0"))
            #expect(wrong.text.contains("/configuration/response/becomeDownload/above"))
            let ephemeral = try await service.request(
                .post, "/v1/sessions",
                body: #"{"kind": "ephemeral", "configuration": {"response": {"becomeDownload": {"aboveBytes": 1}}}}"#)
            #expect(ephemeral.status == 422 && ephemeral.text.contains("/configuration/response/becomeDownload"))
        }
    }
}
