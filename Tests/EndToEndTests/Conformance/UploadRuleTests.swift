import Foundation
import HTTPTypes
import TestSupport
import Testing

/// How request bodies are sent, and sent again.
@Suite(.sharedServiceAndHTTPBin) struct UploadRuleTests {
    /// A play that looks at the head of each request before its body comes, and may answer at once.
    private static func head(of status: String) -> String { "HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n" }

    // A body that the server turns down is not sent.
    // Proves: UPL-10.
    @Test(arguments: ["401 Who", "413 Too Large", "417 Expectation Failed"])
    func `a body that waits for the server's word`(_ status: String) async throws {
        let count = Progress()
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let expects = head.contains("Expect: 100-continue")
                count.add(1)
                // RFC 9110 §10.1.1: after a 417 the request is repeated without the expectation.
                try connection.send(Self.head(of: expects ? status : "200 OK"))
                if !expects { try connection.receive(4) }
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let job = try await service.fetch(
                origin.url(), request: #", "method": "PUT", "body": {"text": "body"}"#,
                more: #", "configuration": {"upload": {"expectContinue": "always"}}"#)
            let isRepeated = status.hasPrefix("417")
            #expect(EndToEndTests.status(of: job) == (isRepeated ? 200 : Int(status.prefix(3))), "\(job)")
            #expect(count.value == (isRepeated ? 2 : 1))
            if !isRepeated { #expect(!origin.received().contains("\r\n\r\nbody")) }
        }
    }

    // Proves: UPL-10.
    @Test func `the expectation is the job's choice, and only a large body has it by itself`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer())
        func expects(_ size: Int, _ choice: String = "automatic") async throws -> Bool {
            let blob = try await rig.service.request(
                .post, "/v1/blobs", body: String(repeating: "x", count: size), headers: [.contentType: "text/plain"])
            let id = try #require(member(blob.json, "id", as: String.self))
            _ = try await rig.fetch(
                play.url(), #""method": "PUT", "body": {"blob": "\#(id)"}"#,
                configuration: #""upload": {"expectContinue": "\#(choice)"}"#)
            return play.requests.last?.values("expect") == ["100-continue"]
        }
        #expect(try await expects(5) == false)
        #expect(try await expects(5, "always") == true)
        #expect(try await expects(1_048_576) == true)
        #expect(try await expects(1_048_576, "never") == false)
    }

    // RFC 9110 §10.1.1: nobody waits for ever.
    // Proves: UPL-10.
    @Test func `a server that says nothing gets the body after a time`() async throws {
        let heads = Progress()
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                if head.contains("Expect: 100-continue\r\n") { heads.add(1) }
                try connection.receive(4)
                try connection.send(Self.head(of: "200 OK"))
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let job = try await service.fetch(
                origin.url(), request: #", "method": "PUT", "body": {"text": "body"}"#,
                more: #", "configuration": {"upload": {"expectContinue": "always"}}"#)
            #expect(EndToEndTests.status(of: job) == 200, "\(job)")
            #expect(heads.value == 1 && origin.received().hasSuffix("\r\n\r\nbody"))
        }
    }

    // With every kind of body.
    // Proves: UPL-11, UPL-1.
    @Test(arguments: [
        #"{"text": "again"}"#, #"{"base64": "YWdhaW4="}"#, #"{"form": {"a": "gain"}}"#,
        #"{"multipart": [{"name": "a", "text": "gain"}]}"#, #"{"json": "again"}"#,
    ])
    func `a body goes along to where a 307 leads`(_ body: String) async throws {
        let rig = try SharedService.current
        let target = rig.other.play(answer())
        let play = rig.stage.play(answer("307 There", "Location: \(target.url())"))
        _ = try await rig.fetch(play.url(), #""method": "POST", "body": \#(body)"#)
        let (first, second) = (try #require(play.requests.first), try #require(target.requests.first))
        #expect(first.body == second.body && !first.body.isEmpty)
        #expect(first.values("content-type") == second.values("content-type"))
    }

    // A request that may have been received is sent again only where that does no harm.
    // Proves: UPL-12.
    @Test(arguments: [("PUT", 2), ("DELETE", 2), ("POST", 1), ("PATCH", 1)])
    func `a lost connection is tried again only when that is safe`(_ method: String, _ count: Int) async throws {
        let rig = try SharedService.current
        let play = rig.stage.serve { number, connection in
            if number == 0 { connection.reset() } else { try connection.send(answer()) }
            if number == 0 { throw CancellationError() }
        }
        let job = try await rig.fetch(
            play.url(), #""method": "\#(method)", "body": {"text": "x"}"#,
            configuration: #""retry": {"maximumAttempts": 2, "backoff": {"initial": 0.01}}"#)
        #expect(play.requests.count == count)
        #expect(member(job, "state") == (count == 2 ? "succeeded" : "failed"))
    }

    // The conditions are the job's own fields, and the server's answer to them is its response.
    // Proves: BEY-30.
    @Test func `an upload can be conditional`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("412 No"))
        let job = try await rig.fetch(
            play.url(),
            #""method": "PUT", "body": {"text": "x"}, "headers": [{"name": "If-Match", "value": "\"a\""}]"#)
        #expect(status(of: job) == 412)
        #expect(play.requests.first?.values("if-match") == ["\"a\""])
    }

    // httpd undoes the coding before it stores what it is sent, and looks at the condition.
    // Proves: BEY-30.
    @Test(
        .enabled(if: LoopbackServer.hasApache(modules: "dav", "dav_fs", "deflate")),
        arguments: [#"{"text": "TEXT"}"#, #"{"blob": "BLOB"}"#])
    func `httpd with WebDAV takes a compressed upload, and none over what is there already`(
        _ form: String
    ) async throws {
        let directory = try TemporaryDirectory()
        let server = try await LoopbackServer.httpd(
            in: directory, modules: ["dav", "dav_fs", "filter", "deflate"],
            "DavLockDB \(directory.file("root/.locks/db"))\n<Location />\nDav On\nSetInputFilter DEFLATE\n</Location>")
        for folder in ["root", "root/.locks"] { try directory.makeDirectory(folder, mode: 0o777) }
        // httpd takes a body that shrinks to less than a two-hundredth for an attack.
        let text = (0..<20_000).map { "All work and no play, \($0). " }.joined()
        try await ServiceProcess.with(allowing: [server.rule]) { service in
            let blob = try await service.request(
                .post, "/v1/blobs", body: text, headers: [.contentType: "text/csv"])
            let id = try #require(member(blob.json, "id", as: String.self), "\(blob.text)")
            let body = form.replacing("TEXT", with: text).replacing("BLOB", with: id)
            let condition = #"[{"name": "If-None-Match", "value": "*"}]"#
            var statuses: [Int?] = []
            for _ in 0..<2 {
                let job = try await service.fetch(
                    server.url("/file.txt"), request: #", "method": "PUT", "headers": \#(condition), "body": \#(body)"#,
                    more: #", "kind": "upload", "configuration": {"upload": {"coding": "gzip"}}"#)
                statuses.append(EndToEndTests.status(of: job))
                let transfer = try #require(member(job, "attempts", "0", "metrics", "0", as: [String: Any].self))
                guard statuses.count == 1 else { continue }
                let sent = try #require(transfer["countOfRequestBodyBytesSent"] as? Int)
                #expect(sent > 0 && sent < text.utf8.count / 2, "\(transfer)")
                #expect(transfer["countOfRequestBodyBytesBeforeEncoding"] as? Int == text.utf8.count)
            }
            #expect(statuses == [201, 412])
            let stored = try await service.fetch(server.url("/file.txt"))
            let href = try #require(member(stored, "body", "href", as: String.self))
            // The difference of two long texts would take long to say.
            let isSame = try await service.request(.get, href).text == text
            #expect(isSame)
        }
    }

    // It comes behind that of the client's own.
    // Proves: BEY-30.
    @Test(arguments: ["gzip", "zstd"])
    func `a body goes along in its coding to where a 307 leads, and says which`(_ coding: String) async throws {
        let rig = try SharedService.current
        let target = rig.other.play(answer())
        let play = rig.stage.play(answer("307 There", "Location: \(target.url())"))
        let text = String(repeating: "again ", count: 1000)
        let own = #""headers": [{"name": "Content-Encoding", "value": "aes128gcm"}]"#
        _ = try await rig.fetch(
            play.url(), #""method": "POST", "body": {"text": "\#(text)"}, \#(own)"#,
            configuration: #""upload": {"coding": "\#(coding)"}"#)
        let sent = [try #require(play.requests.first), try #require(target.requests.first)]
        for request in sent {
            #expect(request.values("content-encoding") == ["aes128gcm, \(coding)"])
            #expect(request.body.count < text.utf8.count / 10 && !request.body.isEmpty)
            #expect(request.body.starts(with: coding == "gzip" ? [0x1F, 0x8B] : [0x28, 0xB5, 0x2F, 0xFD]))
        }
        #expect(sent[0].body == sent[1].body)
        for wrong in [#""br""#, #""identity""#, "1"] {
            let answer = try await rig.service.request(
                .post, "/v1/jobs",
                body: #"{"request": "\#(play.url())", "configuration": {"upload": {"coding": \#(wrong)}}}"#)
            #expect(answer.status == 422)
            #expect(member(answer.json, "errors", "0", "pointer") == "/configuration/upload/coding")
        }
    }

    // Proves: TSK-4, UPL-8.
    @Test func `an upload has a body`() async throws {
        let rig = try SharedService.current
        let answer = try await rig.service.request(
            .post, "/v1/jobs", body: #"{"kind": "upload", "request": {"url": "http://a.example/", "method": "PUT"}}"#)
        #expect(answer.status == 422 && member(answer.json, "errors", "0", "pointer") == "/request/body")
    }
}
