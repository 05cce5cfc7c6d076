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

    // Proves: TSK-4, UPL-8.
    @Test func `an upload has a body`() async throws {
        let rig = try SharedService.current
        let answer = try await rig.service.request(
            .post, "/v1/jobs", body: #"{"kind": "upload", "request": {"url": "http://a.example/", "method": "PUT"}}"#)
        #expect(answer.status == 422 && member(answer.json, "errors", "0", "pointer") == "/request/body")
    }
}
