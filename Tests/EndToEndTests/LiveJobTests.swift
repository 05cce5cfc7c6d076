import FetchEngine
import FetchJobs
import Foundation
import Glibc
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Jobs that are followed while they run: the bytes of their bodies, both ways, and their events.
@Suite(.timeLimit(.minutes(2))) struct LiveJobTests {
    /// Answers with the first part of a body, and with the rest once its gate is open.
    private func origin(_ content: [UInt8], holdingAt held: Int, _ gate: Gate) throws -> WireOrigin {
        try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(content.count)\r\n\r\n")
                try connection.send(Array(content[..<held]))
                try gate.wait()
                try connection.send(Array(content[held...]))
            }
        }
    }

    private func submit(_ job: String, _ service: ServiceProcess) async throws -> String {
        let answer = try await service.request(.post, "/v1/jobs", body: job)
        return try #require(member(answer.json, "id", as: String.self), "\(answer.text)")
    }

    // The bytes of a response can be read before its last one has come.
    // Proves: TSK-2, LIF-10, CON-10.
    @Test(arguments: ["data", "download"])
    func `a body is read while it arrives`(kind: String) async throws {
        let (content, gate) = (pattern(500_000), Gate())
        let origin = try origin(content, holdingAt: 300_000, gate)
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let id = try await submit(#"{"kind": "\#(kind)", "request": {"url": "\#(origin.url("/f"))"}}"#, service)
            let path = "/v1/jobs/\(id)/body"
            try await until { try await service.request(.head, path).status == 200 }
            let (body, response) = try await service.stream(path)
            #expect(response.status == .ok)
            var received: [UInt8] = []
            for try await chunk in body {
                received += chunk
                if received.count == 300_000 { gate.open() }
            }
            #expect(received == content)
            let job = try await service.job(id) { member($0, "state") == "succeeded" }
            #expect(member(job, "body", "digest") == SHA256Digest(of: content).field)
        }
    }

    // Each piece of the origin's ends in the middle of a line, and the next one comes when the lines before are there.
    // Proves: BEY-28.
    @Test func `a body is given line by line as it comes, if that is asked for`() async throws {
        let pieces = ["one\r\ntw", "o\n\nthr", "ee\nlast"]
        let gates = [Gate(), Gate()]
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for (number, piece) in pieces.enumerated() {
                    if number > 0 { try gates[number - 1].wait() }
                    try connection.send("\(piece.utf8.count)\r\n\(piece)\r\n")
                }
                try connection.send("0\r\n\r\n")
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let id = try await submit(#"{"kind": "download", "request": {"url": "\#(origin.url("/f"))"}}"#, service)
            let path = "/v1/jobs/\(id)/body"
            #expect(try await service.request(.get, path + "?framing=words").status == 400)
            try await until { try await service.request(.head, path).status == 200 }
            let (body, response) = try await service.stream(path + "?framing=lines")
            #expect(response.status == .ok)
            var (text, whole) = ("", [String]())
            for try await chunk in body {
                text += String(decoding: chunk, as: UTF8.self)
                whole.append(text)
                if text == "one\r\n" { gates[0].open() }
                if text == "one\r\ntwo\n\n" { gates[1].open() }
            }
            #expect(text == pieces.joined())
            #expect(whole.dropLast().allSatisfy { $0.utf8.last == UInt8(ascii: "\n") }, "\(whole)")
            let job = try await service.job(id) { member($0, "state") == "succeeded" }
            #expect(member(job, "body", "bytes") == pieces.joined().utf8.count)
            #expect(try await service.request(.get, path + "?framing=lines").text == pieces.joined())
        }
    }

    // A body that ends short does not look like a whole one.
    // Proves: ERR-5.
    @Test func `the body of a job that fails is cut short for who follows it`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            _ = try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 500000\r\n\r\n")
            try connection.send(pattern(300_000))
            try gate.wait()
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let id = try await submit(#"{"request": {"url": "\#(origin.url("/f"))"}}"#, service)
            try await until { try await service.request(.head, "/v1/jobs/\(id)/body").status == 200 }
            let (body, _) = try await service.stream("/v1/jobs/\(id)/body")
            await #expect(throws: LoadError.self) {
                for try await _ in body { gate.open() }
            }
            _ = try await service.job(id) { member($0, "state") == "failed" }
        }
    }

    // MARK: Streamed uploads

    // The bytes of a client go to the origin while the client sends.
    // Proves: UPL-4, UPL-5, UPL-1.
    @Test func `a streamed body reaches the origin`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let id = try await submit(
                #"{"kind": "upload", "request": {"url": "\#(origin.url("/put"))", "method": "PUT", "#
                    + #""headers": [{"name": "Content-Type", "value": "text/plain"}], "body": {"stream": true}}}"#,
                service)
            let text = String(repeating: "0123456789", count: 50_000)
            let pipe = BodyPipe()
            async let answer = service.send(.put, "/v1/jobs/\(id)/body", .stream(pipe))
            for _ in 0..<10 { try await pipe.write(Array(text.utf8.prefix(50_000))) }
            pipe.finish()
            #expect(try await answer.status == 204)
            let job = try await service.job(id) { member($0, "state") == "succeeded" }
            let href = try #require(member(job, "body", "href", as: String.self))
            #expect(member(try await service.request(.get, href).json, "data") == text)
        }
    }

    // After a redirect that keeps the body the client is asked for it again.
    // Proves: UPL-6, UPL-11, LIF-8.
    @Test func `a streamed body is wanted again after a 307`() async throws {
        let count = Progress()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                let body = try connection.receiveChunked()
                let isFirst = count.add(1) == 1
                let head = isFirst ? "307 Temporary Redirect\r\nLocation: /b" : "200 OK"
                try connection.send("HTTP/1.1 \(head)\r\nContent-Length: \(body.count)\r\n\r\n")
                try connection.send(body)
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let id = try await submit(
                #"{"request": {"url": "\#(origin.url("/a"))", "method": "PUT", "body": {"stream": true}}}"#, service)
            #expect(try await service.send(.put, "/v1/jobs/\(id)/body", .bytes(Array("once".utf8))).status == 204)
            #expect(try await service.send(.put, "/v1/jobs/\(id)/body", .bytes(Array("twice".utf8))).status == 204)
            let job = try await service.job(id) { member($0, "state") == "succeeded" }
            let href = try #require(member(job, "body", "href", as: String.self))
            #expect(try await service.request(.get, href).text == "twice")
            #expect(try await service.send(.put, "/v1/jobs/\(id)/body", .bytes([1])).status == 409)
        }
    }

    // A client that leaves in the middle ends the request short.
    // Proves: UPL-8.
    @Test func `a streamed body that breaks off fails the job`() async throws {
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil { try connection.receiveToEnd() }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let id = try await submit(
                #"{"request": {"url": "\#(origin.url("/a"))", "method": "PUT", "body": {"stream": true}}}"#, service)
            let pipe = BodyPipe()
            async let answer = service.send(.put, "/v1/jobs/\(id)/body", .stream(pipe))
            try await pipe.write(Array("some".utf8))
            pipe.fail()
            _ = try? await answer
            let job = try await service.job(id) { member($0, "state") == "failed" }
            #expect(member(job, "error", "name") == "requestBodyStreamExhausted")
        }
    }

    // Nobody sends it, and the origin gets no more than the head of the request.
    // Proves: UPL-8.
    @Test(arguments: ["", #", "upload": {"spoolBytes": 100}"#])
    func `a streamed body that never comes fails the job`(_ more: String) async throws {
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil { try connection.receiveToEnd() }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let id = try await submit(
                #"{"request": {"url": "\#(origin.url("/a"))", "method": "PUT", "body": {"stream": true}}, "#
                    + #""configuration": {"timeouts": {"timeoutIntervalForRequest": 1}\#(more)}}"#, service)
            let job = try await service.job(id) { member($0, "state") == "failed" }
            #expect(errorName(of: job) == "timedOut", "\(job)")
            #expect(origin.received().components(separatedBy: "\r\n\r\n").count <= 2)
            #expect(origin.connections.isEmpty == !more.isEmpty)
        }
    }

    // A redirect and a challenge have it sent three times, and the client is asked once.
    // Proves: UPL-8.
    @Test func `a streamed body that is kept is sent again without its client`() async throws {
        let content = pattern(300_003)
        let bodies = Mutex<[[UInt8]]>([])
        let answers = [
            answer("307 There", "Location: /b"), answer("401 Who", "WWW-Authenticate: Basic realm=\"r\""), answer(),
        ]
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                let body = try connection.receive(length)
                let number = bodies.withLock { bodies in
                    bodies.append(body)
                    return bodies.count
                }
                try connection.send(answers[min(number, answers.count) - 1])
            }
        }
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            func put(keeping bytes: Int) async throws -> (job: [String: Any], status: Int) {
                let id = try await submit(
                    #"{"request": {"url": "\#(origin.url("/a"))", "method": "PUT", "body": {"stream": true}}, "#
                        + #""configuration": {"upload": {"spoolBytes": \#(bytes), "expectContinue": "never"}, "#
                        + #""authentication": {"credential": {"user": "u", "password": "p"}}}}"#, service)
                let put = try await service.send(.put, "/v1/jobs/\(id)/body", .bytes(content))
                let job = try await service.job(id) { ["succeeded", "failed"].contains(member($0, "state")) }
                return (job, put.status)
            }
            let kept = try await put(keeping: content.count)
            #expect(kept.status == 204 && status(of: kept.job) == 200, "\(kept)")
            #expect(bodies.withLock { $0 } == [content, content, content])
            let files = FileManager.default.enumerator(
                at: URL(filePath: place.directory), includingPropertiesForKeys: [.fileSizeKey])
            for file in files?.compactMap({ $0 as? URL }) ?? [] {
                #expect(try file.resourceValues(forKeys: [.fileSizeKey]).fileSize != content.count, "\(file)")
            }
            let larger = try await put(keeping: content.count - 1)
            #expect(errorName(of: larger.job) == "dataLengthExceedsMaximum", "\(larger)")
            #expect(bodies.withLock { $0.count } == 3)
            #expect(try await service.stop() == 0)
        }
    }

    // MARK: Events

    // R21: progress while the job runs, and its end.
    // Proves: TSK-9, BEY-6, DLD-6, DLD-7, DLG-9.
    @Test func `events tell the response, progress and the end`() async throws {
        let (content, gate) = (pattern(500_000), Gate())
        let origin = try origin(content, holdingAt: 300_000, gate)
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let id = try await submit(
                #"{"kind": "download", "request": {"url": "\#(origin.url("/f.bin"))"}}"#, service)
            let (body, response) = try await service.stream("/v1/jobs/\(id)/events")
            #expect(response.headerFields[.contentType] == "text/event-stream")
            var text = ""
            for try await chunk in body {
                text += String(decoding: chunk, as: UTF8.self)
                guard text.contains("\"bytesReceived\":300000,\"bytesExpectedToReceive\":500000") else { continue }
                let job = try await service.request(.get, "/v1/jobs/\(id)").json
                if member(job, "state") == "running" {
                    #expect(member(job, "progress", "bytesReceived") == 300_000)
                    #expect(member(job, "progress", "fraction") == 0.6)
                }
                gate.open()
            }
            #expect(text.contains("id: 1.2\nevent: job.response\ndata: {"))
            #expect(text.contains("event: job.progress\n"))
            let end = try #require(text.range(of: "id: final\nevent: job.finished\ndata: {"))
            #expect(text[end.upperBound...].contains("\"state\":\"succeeded\""))
            let last = HTTPField.Name("Last-Event-ID")!
            #expect(try await service.request(.get, "/v1/jobs/\(id)/events", headers: [last: "final"]).status == 204)
            let again = try await service.request(.get, "/v1/jobs/\(id)/events", headers: [last: "1.2"])
            #expect(again.text.hasPrefix("id: final\n"))
        }
    }

    // A browser's EventSource has no field for a key.
    @Test func `a page follows a job with a token in place of a key`() async throws {
        let gate = Gate()
        let origin = try origin(pattern(200_000), holdingAt: 100_000, gate)
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let id = try await submit(#"{"request": {"url": "\#(origin.url("/f"))"}}"#, service)
            let made = try await service.request(.post, "/v1/jobs/\(id)/events/token")
            let href = try #require(member(made.json, "href", as: String.self), "\(made.text)")
            let page = Session()
            let fields: HTTPFields = [.origin: "https://app.example"]
            let (body, response) = try await page.bytes(
                for: Request(url: try URLRecord(service.base + href), headerFields: fields))
            #expect(response.headerFields[.contentType] == "text/event-stream")
            #expect(response.headerFields[.accessControlAllowOrigin] == "*")
            var text = ""
            for try await chunk in body {
                text += String(decoding: chunk, as: UTF8.self)
                if text.contains("event: job.response\n") { gate.open() }
            }
            #expect(text.contains("id: final\nevent: job.finished\n"))
            // With a key it is for the client that has it, and no site is told anything.
            let last = HTTPField.Name("Last-Event-ID")!
            let own = try await service.request(.get, "/v1/jobs/\(id)/events", headers: [last: "1.1"])
            #expect(own.status == 200 && own.headers[.accessControlAllowOrigin] == nil)
        }
    }

    @Test func `events end soon after their key was revoked, those of a page with its token too`() async throws {
        let gate = Gate()
        let origin = try origin(pattern(200_000), holdingAt: 100_000, gate)
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let id = try await submit(#"{"request": {"url": "\#(origin.url("/f"))"}}"#, service)
            let key = try await service.request(
                .post, "/v1/keys", body: #"{"name": "reader", "scopes": ["jobs:read"]}"#)
            let text = try #require(member(key.json, "token", as: String.self), "\(key.text)")
            let reader = service.speaking(with: text)
            let made = try await reader.request(.post, "/v1/jobs/\(id)/events/token")
            let href = try #require(member(made.json, "href", as: String.self), "\(made.text)")
            let (own, _) = try await reader.stream("/v1/jobs/\(id)/events")
            let page = Session()
            let (ofPage, _) = try await page.bytes(for: Request(url: try URLRecord(service.base + href)))
            let keyID = try #require(member(key.json, "id", as: String.self))
            #expect(try await service.request(.delete, "/v1/keys/\(keyID)").status == 204)
            for try await _ in own {}
            for try await _ in ofPage {}
            #expect(member(try await service.request(.get, "/v1/jobs/\(id)").json, "state") == "running")
            gate.open()
        }
    }

    @Test func `events end when the service stops`() async throws {
        let gate = Gate()
        let origin = try origin(pattern(200_000), holdingAt: 100_000, gate)
        let settings = ["WORKER_DRAIN_SECONDS": "0.2"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let id = try await submit(#"{"request": {"url": "\#(origin.url("/f"))"}}"#, service)
            let (body, _) = try await service.stream("/v1/jobs/\(id)/events")
            var isStopping = false
            for try await _ in body where !isStopping {
                service.send(SIGTERM)
                isStopping = true
            }
            #expect(isStopping)
            #expect(try await service.waitForEnd() == 0)
            gate.open()
        }
    }

    @Test func `a client that leaves its events is not sent any more`() async throws {
        let gate = Gate()
        let origin = try origin(pattern(200_000), holdingAt: 100_000, gate)
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let id = try await submit(#"{"request": {"url": "\#(origin.url("/f"))"}}"#, service)
            func streams(_ count: Int) async throws -> Bool {
                try await service.request(.get, "/metrics").text.contains("\nfetchd_event_streams \(count)\n")
            }
            do {
                let (body, _) = try await service.stream("/v1/jobs/\(id)/events")
                for try await _ in body { break }
                #expect(try await streams(1))
            }
            try await until { try await streams(0) }
            gate.open()
        }
    }
}
