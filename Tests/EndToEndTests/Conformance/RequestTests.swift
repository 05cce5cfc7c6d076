import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The requests of jobs, as origins receive them.
@Suite(.sharedServiceAndHTTPBin) struct RequestTests {
    // Proves: URL-1, TSK-1.
    @Test func `a request is a URL, or all of a request`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer())
        for request in [#""\#(play.url("a"))""#, #"{"url": "\#(play.url("a"))"}"#] {
            let job = try await rig.service.request(
                .post, "/v1/jobs", body: #"{"request": \#(request)}"#, headers: [.prefer: "wait=30"])
            #expect(member(job.json, "kind") == "data" && member(job.json, "request", "url") == play.url("a"))
            #expect(member(job.json, "state") == "succeeded", "\(job.text)")
        }
        #expect(play.requests.count == 2 && play.requests[0].head == play.requests[1].head)
    }

    // R44, R45
    // Proves: URL-3, CON-13.
    @Test func `method, fields and body are sent as they were given`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer())
        let request = #"""
            "method": "pAtch", "headers": [{"name": "x-b", "value": "1"}, {"name": "X-A", "value": ""},
            {"name": "x-b", "value": "2"}, {"name": "Content-Type", "value": "text/x-own"}], "body": {"base64": "AAEC/w=="}
            """#
        _ = try await rig.fetch(play.url(), request)
        let sent = try #require(play.requests.first)
        #expect(sent.line.hasPrefix("pAtch /"))
        #expect(sent.head.contains("x-b: 1\r\nX-A:\r\nx-b: 2\r\nContent-Type: text/x-own\r\n"))
        #expect(sent.body == [0, 1, 2, 255] && sent.values("content-length") == ["4"])
    }

    // Neither at once nor later: no job is made.
    // Proves: URL-3.
    @Test(arguments: ["\\r", "\\n", "\\u0000", "a\\r\\nX-Second: b"])
    func `a field that would end its line is refused`(_ characters: String) async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer())
        for (name, value) in [("X-A", "b\(characters)c"), ("X-A", characters), ("X\(characters)A", "b")] {
            let field = #"{"name": "\#(name)", "value": "\#(value)"}"#
            let refused = try await rig.service.request(
                .post, "/v1/jobs", body: #"{"request": {"url": "\#(play.url())", "headers": [\#(field)]}}"#)
            let pointer = "/request/headers/0/" + (name == "X-A" ? "value" : "name")
            // No text of a job has a NUL, so it is refused before anybody looks at its place.
            let isNUL = characters == "\\u0000"
            #expect(refused.status == (isNUL ? 400 : 422), "\(refused.text)")
            #expect(member(refused.json, "errors", "0", "pointer") == (isNUL ? nil : pointer), "\(refused.text)")
        }
        for method in ["GE\(characters)T", "TRACE", "A B"] {
            let refused = try await rig.service.request(
                .post, "/v1/jobs", body: #"{"request": {"url": "\#(play.url())", "method": "\#(method)"}}"#)
            #expect(refused.status == (method.contains("u0000") ? 400 : 422), "\(refused.text)")
        }
        // The valid field is sent, and it alone.
        _ = try await rig.fetch(play.url(), #""headers": [{"name": "X-A", "value": "good"}]"#)
        #expect(play.requests.map { $0.values("x-a") } == [["good"]])
    }

    // The type of text is the client's word, and of JSON ours.
    // Proves: UPL-2.
    @Test func `no content type is invented for bytes`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer())
        for body in [#"{"base64": "aGk="}"#, #"{"text": "hi"}"#, #"{"json": 1}"#] {
            _ = try await rig.fetch(play.url(), #""method": "POST", "body": \#(body)"#)
        }
        #expect(play.requests.map { $0.values("content-length") } == [["2"], ["2"], ["1"]])
        #expect(play.requests[0].values("content-type") == [])
        #expect(play.requests[2].values("content-type") == ["application/json"])
    }

    // Each byte starts the time anew.
    // Proves: URL-5.
    @Test func `an answer that drips is not idle, one that pauses is`() async throws {
        let rig = try SharedService.current
        let idle = #""timeouts": {"timeoutIntervalForRequest": 0.7}"#
        let drip = try await rig.fetch(try rig.bin("/drip?duration=1.2&numbytes=6&delay=0"), configuration: idle)
        #expect(status(of: drip) == 200)
        let pause = try await rig.fetch(try rig.bin("/delay/3"), configuration: idle)
        #expect(errorName(of: pause) == "timedOut")
    }

    // The origin says nothing before it has everything, which takes longer than a pause may.
    // Proves: URL-5.
    @Test func `each byte that is sent starts the time anew, and it is a minute by default`() async throws {
        let rig = try SharedService.current
        let count = Progress()
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            while true {
                let size = Int(try connection.receiveLine(), radix: 16) ?? 0
                try connection.receive(size + 2)
                count.add(size)
                if size == 0 { break }
            }
            try connection.send(answer())
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let pause = 3
            let body = #"""
                {"request": {"url": "\#(origin.url())", "method": "PUT", "body": {"stream": true}},
                 "configuration": {"timeouts": {"timeoutIntervalForRequest": \#(pause)}, "retry": {"maximumAttempts": 1}}}
                """#
            let asked = try await service.request(.post, "/v1/jobs", body: body)
            let id = try #require(member(asked.json, "id", as: String.self), "\(asked.text)")
            let pipe = BodyPipe()
            async let sent = service.send(.put, "/v1/jobs/\(id)/body", .stream(pipe))
            let (start, tick) = (ContinuousClock.now, Duration.milliseconds(100))
            var written = 0
            while ContinuousClock.now - start < .seconds(pause + 1) {
                try await pipe.write([1])
                written += 1
                try await until { count.value == written }
                try await Task.sleep(for: tick)
            }
            pipe.finish()
            #expect(try await sent.status == 204)
            let job = try await service.job(id) { ["succeeded", "failed"].contains(member($0, "state")) }
            #expect(status(of: job) == 200, "\(job)")
        }
        let plain = try await rig.fetch("data:,x")
        let path = "/v1/jobs/\(member(plain, "id", as: String.self) ?? "")?include=effectiveConfiguration"
        let shown = try await rig.service.request(.get, path).json
        #expect(member(shown, "effectiveConfiguration", "timeouts", "timeoutIntervalForRequest", "value") == 60)
    }

    // Proves: URL-6.
    @Test func `a time limit comes from the session unless the job has one`() async throws {
        let rig = try SharedService.current
        let session = try await rig.makeSession(
            #"{"configuration": {"timeouts": {"timeoutIntervalForRequest": 0.2}}}"#)
        let slow = try rig.bin("/delay/1")
        #expect(errorName(of: try await rig.fetch(slow, session: session)) == "timedOut")
        let own = #""timeouts": {"timeoutIntervalForRequest": 20}"#
        #expect(status(of: try await rig.fetch(slow, configuration: own, session: session)) == 200)
    }

    // Proves: URL-7.
    @Test func `the request of a job cannot be changed`() async throws {
        let rig = try SharedService.current
        let id = try await rig.submit(#"{"suspended": true, "request": {"url": "data:,x"}}"#)
        let change = try await rig.service.request(
            .patch, "/v1/jobs/\(id)", body: #"{"request": {"url": "data:,y"}}"#,
            headers: [.contentType: "application/merge-patch+json"])
        #expect([409, 422].contains(change.status), "\(change.text)")
        let job = try await rig.service.request(.get, "/v1/jobs/\(id)").json
        #expect(member(job, "request", "url") == "data:,x")
    }

    // Proves: URL-11.
    @Test func `a URL is brought into its one form, and the fragment stays here`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer())
        let url = play.url("a/./b/../c%20d?q=\u{E9}%7e#part").replacing("http:", with: "HTTP:")
        let job = try await rig.fetch(url)
        let form = play.url("a/c%20d?q=%C3%A9%7e")
        #expect(member(job, "request", "url") == form + "#part")
        #expect(member(job, "response", "url") == form + "#part")
        #expect(play.requests.first?.line.hasSuffix("/a/c%20d?q=%C3%A9%7e HTTP/1.1") == true)
        let name = try await rig.fetch("http://b\u{FC}cher.example:80/")
        #expect(member(name, "request", "url") == "http://xn--bcher-kva.example/")
    }

    // Proves: URL-12, CON-8.
    @Test(arguments: [
        "", "/a", "http://", "http://[::1", "http://a b/", "http://h:99999/", "gopher://h/", "mailto:a@b",
    ])
    func `a request that nothing can serve is refused at once`(_ url: String) async throws {
        let rig = try SharedService.current
        let body = #"{"request": {"url": "\#(url)"}}"#
        let answer = try await rig.service.request(.post, "/v1/jobs", body: body)
        #expect(answer.status == 422)
        #expect(answer.headers[.contentType] == "application/problem+json")
        #expect(member(answer.json, "errors", "0", "pointer") == "/request/url")
    }

    // Proves: ENC-5.
    @Test func `a form arrives with its fields, whatever is in them`() async throws {
        let rig = try SharedService.current
        let request = #""method": "POST", "body": {"form": {"a&b": "1 +=\u00e9", "x": "y&admin=1"}}"#
        let job = try await rig.fetch(try rig.bin("/post"), request)
        let form = try #require(member(try await rig.echo(of: job), "form", as: [String: String].self))
        #expect(form == ["a&b": "1 +=\u{E9}", "x": "y&admin=1"])
    }
}
