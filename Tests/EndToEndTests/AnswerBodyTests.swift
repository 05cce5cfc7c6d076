import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Bodies that answers give to requests: blobs, and streams that the client sends afterwards.
@Suite(.timeLimit(.minutes(2))) struct AnswerBodyTests {
    private static let atOnce = ["WORKER_HOLD_SECONDS": "0"]

    /// Redirects from `/go` to `/on` and from there to `/echo`, which answers with the body that it was sent.
    private static func origin() throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let body = try connection.receiveBody(after: head)
                switch head.split(separator: " ")[1] {
                case "/go": try connection.send(redirect(to: "/on"))
                case "/on": try connection.send(redirect(to: "/echo"))
                default:
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
                    try connection.send(body)
                }
            }
        }
    }

    private static func redirect(to path: String) -> String {
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: \(path)\r\nContent-Length: 0\r\n\r\n"
    }

    private func rule(_ origin: WireOrigin) -> String { "127.0.0.1:\(origin.port)" }

    private func blob(_ service: ServiceProcess, _ text: String, key: String? = nil) async throws -> String {
        let answer = try await service.request(
            .post, "/v1/blobs", body: text, headers: [.contentType: "text/csv"], key: key)
        return try #require(member(answer.json, "id"), "\(answer.text)")
    }

    /// Submits an upload of a stream that asks for the body.
    private func upload(_ service: ServiceProcess, _ url: String) async throws -> String {
        let request = #"{"url": "\#(url)", "method": "POST", "body": {"stream": true}}"#
        let delegate = #""delegate": {"via": "api", "questions": ["needNewBodyStream"], "timeout": 60}"#
        let answer = try await service.request(
            .post, "/v1/jobs", body: #"{"kind": "upload", "request": \#(request), "configuration": {\#(delegate)}}"#)
        return try #require(member(answer.json, "id"), "\(answer.text)")
    }

    private func body(_ service: ServiceProcess, of job: String) async throws -> String {
        let end = try await service.end(of: job)
        #expect(member(end, "state") == "succeeded", "\(end)")
        return try await service.request(.get, "/v1/jobs/\(job)/body").text
    }

    private func parked(_ service: ServiceProcess) async throws {
        try await until {
            try await service.request(.get, "/metrics").text.contains("fetchd_loads_parked_total 1")
        }
    }

    // Proves: UPL-6, DLG-1.
    @Test func `a body that was to be streamed is a blob, whole or in a form`() async throws {
        let origin = try Self.origin()
        try await ServiceProcess.with(allowing: [rule(origin)]) { service in
            let stored = try await blob(service, "stored")
            let whole = try await upload(service, origin.url("/echo"))
            let answer = #"{"answer": "useBody", "body": {"blob": "\#(stored)"}}"#
            let given = try await service.answer(try await service.question(of: whole), answer)
            #expect(given.status == 200 && given.text.contains(stored), "\(given.text)")
            #expect(try await body(service, of: whole) == "stored")
            let form = try await upload(service, origin.url("/echo"))
            let parts = #"[{"name": "a", "text": "b"}, {"name": "c", "blob": "\#(stored)"}]"#
            _ = try await service.answer(
                try await service.question(of: form), #"{"answer": "useBody", "body": {"multipart": \#(parts)}}"#)
            let sent = try await body(service, of: form)
            #expect(sent.contains("stored") && sent.contains(#"filename="c""#), "\(sent)")
        }
    }

    // Proves: UPL-6, DLG-1.
    @Test func `a body that was to be streamed is another stream, which its client sends`() async throws {
        let origin = try Self.origin()
        try await ServiceProcess.with(allowing: [rule(origin)]) { service in
            let id = try await upload(service, origin.url("/echo"))
            _ = try await service.answer(
                try await service.question(of: id), #"{"answer": "useBody", "body": {"stream": true}}"#)
            let sent = try await service.request(
                .put, "/v1/jobs/\(id)/body", body: "streamed", headers: [.contentType: "text/plain"])
            #expect(sent.status == 204, "\(sent.text)")
            #expect(try await body(service, of: id) == "streamed")
        }
    }

    @Test func `a redirect is followed with a body that the client sends once it is asked for`() async throws {
        let origin = try Self.origin()
        try await ServiceProcess.with(allowing: [rule(origin)]) { service in
            let id = try await service.submit(
                origin.url("/on"), asking: #"["willPerformHTTPRedirection"]"#,
                request: #", "method": "POST", "body": {"text": "own"}"#)
            let question = try await service.question(of: id)
            let early = try await service.request(
                .put, "/v1/jobs/\(id)/body", body: "early", headers: [.contentType: "text/plain"])
            #expect(early.status == 409 && member(early.json, "code") == "bodyNotWanted", "\(early.text)")
            let given = try await service.answer(
                question, #"{"answer": "follow", "request": {"body": {"stream": true}}}"#)
            #expect(given.status == 200 && given.text.contains(#""stream":true"#), "\(given.text)")
            let sent = try await service.request(
                .put, "/v1/jobs/\(id)/body", body: "streamed", headers: [.contentType: "text/plain"])
            #expect(sent.status == 204, "\(sent.text)")
            #expect(try await body(service, of: id) == "streamed")
        }
    }

    @Test func `a blob of another tenant, and one that is not there, are refused, and the question stays open`()
        async throws
    {
        let origin = try Self.origin()
        try await ServiceProcess.Place.with(allowing: [rule(origin)]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let other = try await blob(service, "theirs", key: try await place.key(tenant: "other"))
            let id = try await service.submit(
                origin.url("/on"), asking: #"["willPerformHTTPRedirection"]"#,
                request: #", "method": "POST", "body": {"text": "own"}"#)
            let question = try await service.question(of: id)
            for name in [other, "blb_01jd3v8m5qf0t8n4r6w2y9bcde"] {
                let refused = try await service.answer(
                    question, #"{"answer": "follow", "request": {"body": {"blob": "\#(name)"}}}"#)
                #expect(refused.status == 422 && member(refused.json, "code") == "answerNotAllowed")
                #expect(member(refused.json, "errors", "0", "pointer") == "/request/body/blob", "\(refused.text)")
            }
            let form = #"{"multipart": [{"name": "a", "text": ""}, {"name": "c", "blob": "\#(other)"}]}"#
            let refused = try await service.answer(question, #"{"answer": "follow", "request": {"body": \#(form)}}"#)
            #expect(member(refused.json, "errors", "0", "pointer") == "/request/body/multipart/1/blob")
            #expect(try await service.answer(question, #""follow""#).status == 200)
            #expect(try await body(service, of: id) == "own")
            try await service.stop()
        }
    }

    @Test(arguments: [false, true])
    func `an endpoint's reply names a blob, which is its tenant's`(isForeign: Bool) async throws {
        let origin = try Self.origin()
        let reply = Mutex("")
        let receiver = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                _ = try connection.receiveBody(after: head)
                let text = reply.withLock { $0 }
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
            }
        }
        try await ServiceProcess.Place.with(allowing: [rule(origin), rule(receiver)]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let key = isForeign ? try await place.key(tenant: "other") : nil
            let stored = try await blob(service, "stored", key: key)
            reply.withLock { $0 = #"{"answer": "follow", "request": {"body": {"blob": "\#(stored)"}}}"# }
            let made = try await service.request(
                .post, "/v1/webhooks/endpoints", body: #"{"url": "\#(receiver.url("/"))"}"#)
            let endpoint = try #require(member(made.json, "id", as: String.self), "\(made.text)")
            let id = try await service.submit(
                origin.url("/on"), asking: #"["willPerformHTTPRedirection"]"#,
                via: #""via": "webhook", "endpoint": "\#(endpoint)""#,
                request: #", "method": "POST", "body": {"text": "own"}"#)
            if isForeign {
                var question: [String: Any] = [:]
                try await until {
                    question = try await service.question(of: id)
                    return question["fault"] != nil
                }
                #expect(
                    member(question, "fault", as: String.self)?.contains("is not a blob of yours") == true,
                    "\(question)")
                #expect(try await service.answer(question, #""follow""#).status == 200)
            }
            #expect(try await body(service, of: id) == (isForeign ? "own" : "stored"))
            try await service.stop()
        }
    }

    // The second redirect is one that the body of the first answer goes on from.
    // Proves: UPL-6.
    @Test func `a load that sends the blob of an answer is parked, and sends it at another node`() async throws {
        let origin = try Self.origin()
        try await ServiceProcess.Place.with(allowing: [rule(origin)], settings: Self.atOnce) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let stored = try await blob(first, "stored")
            let id = try await first.submit(
                origin.url("/go"), asking: #"["willPerformHTTPRedirection"]"#,
                request: #", "method": "POST", "body": {"text": "own"}"#)
            var question = try await first.question(of: id)
            // One that is answered sooner is not parked.
            try await until {
                try await first.request(.get, "/metrics").text.contains("fetchd_loads_parked_total 1")
            }
            _ = try await first.answer(
                question, #"{"answer": "follow", "request": {"body": {"blob": "\#(stored)"}}}"#)
            try await until {
                question = try await first.question(of: id)
                return member(question, "facts", "hop") == 2
            }
            try await until {
                try await first.request(.get, "/metrics").text.contains("fetchd_loads_parked_total 2")
            }
            first.send(SIGKILL)
            _ = try await first.waitForEnd()
            let second = try await ServiceProcess.start(place, key: key)
            // Its job still needs it.
            #expect(try await second.request(.delete, "/v1/blobs/\(stored)").status == 409)
            #expect(try await second.answer(question, #""follow""#).status == 200)
            #expect(try await body(second, of: id) == "stored")
            #expect(origin.count(of: "POST /go") == 1 && origin.count(of: "POST /on") == 1)
            #expect(origin.count(of: "POST /echo") == 1)
            try await second.stop()
        }
    }

    // Proves: UPL-6.
    @Test(arguments: ["blob", "stream"])
    func `a job that waits for its body is parked, and gets it at another node`(_ form: String) async throws {
        let origin = try Self.origin()
        try await ServiceProcess.Place.with(allowing: [rule(origin)], settings: Self.atOnce) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let stored = try await blob(first, "stored")
            let id = try await upload(first, origin.url("/echo"))
            let question = try await first.question(of: id)
            try await parked(first)
            first.send(SIGKILL)
            _ = try await first.waitForEnd()
            let second = try await ServiceProcess.start(place, key: key)
            let content = form == "blob" ? #"{"blob": "\#(stored)"}"# : #"{"stream": true}"#
            #expect(try await second.answer(question, #"{"answer": "useBody", "body": \#(content)}"#).status == 200)
            if form == "stream" {
                let sent = try await second.request(
                    .put, "/v1/jobs/\(id)/body", body: "streamed", headers: [.contentType: "text/plain"])
                #expect(sent.status == 204, "\(sent.text)")
            }
            #expect(try await body(second, of: id) == (form == "blob" ? "stored" : "streamed"))
            #expect(origin.count(of: "POST /echo") == 1)
            try await second.stop()
        }
    }
}

extension WireConnection {
    /// The content of a message with this head, by its length or in chunks.
    fileprivate func receiveBody(after head: String) throws -> [UInt8] {
        if let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap({ Int($0.output.1) }) {
            return try receive(length)
        }
        guard head.lowercased().contains("transfer-encoding: chunked") else { return [] }
        return try receiveChunked()
    }
}
