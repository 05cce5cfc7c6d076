import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Jobs through a running service, against nginx and httpbin.
@Suite struct JobTests {
    @Test func `a job is submitted, fetched, stored and read back`() async throws {
        let origin = try await LoopbackServer.nginx(files: ["hello.txt": Data("hello".utf8)])
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let job = try await service.fetch(origin.url("/hello.txt"))
            #expect(member(job, "state") == "succeeded")
            #expect(member(job, "response", "status") == 200)
            #expect(member(job, "response", "mimeType") == "text/plain")
            #expect(member(job, "attempts", "0", "metrics", "0", "networkProtocolName") == "http/1.1")
            let href = try #require(member(job, "body", "href", as: String.self))
            #expect(try await service.request(.get, href).text == "hello")
        }
    }

    @Test func `a body larger than a row comes back whole and in ranges`() async throws {
        var content = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) })
        content.append(contentsOf: Array("the end".utf8))
        let origin = try await LoopbackServer.nginx(files: ["big": content])
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let job = try await service.fetch(origin.url("/big"))
            let href = try #require(member(job, "body", "href", as: String.self))
            #expect(member(job, "body", "bytes") == content.count)
            #expect(member(job, "body", "digest") == SHA256Digest(of: Array(content)).field)
            #expect(try await service.request(.get, href).body == Array(content))
            let range = try await service.request(.get, href, headers: [.range: "bytes=-7"])
            #expect(range.status == 206 && range.text == "the end")
            let none = try await service.request(.get, href, headers: [.range: "bytes=9000000-"])
            #expect(none.status == 416)
        }
    }

    @Test func `an empty body is a body, and no content is none`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let status = head.contains("/none") ? "204 No Content" : "200 OK\r\nContent-Length: 0"
                try connection.send("HTTP/1.1 \(status)\r\nContent-Type: text/plain\r\n\r\n")
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            for (path, request, isThere) in [
                ("/empty", "", true), ("/none", "", false), ("/head", #", "method": "HEAD""#, false),
            ] {
                let job = try await service.fetch(origin.url(path), request: request)
                let id = try #require(member(job, "id", as: String.self))
                let body = try await service.request(.get, "/v1/jobs/\(id)/body")
                #expect(body.status == (isThere ? 200 : 404) && (!isThere || body.body.isEmpty), "\(path)")
                #expect(member(job, "body", "bytes") == (isThere ? 0 : nil), "\(path)")
            }
        }
    }

    @Test func `what is asked for is what the origin receives`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let request = #"""
                , "method": "PUT", "headers": [{"name": "X-One", "value": "1"}, {"name": "Accept", "value": "a/b"}],
                "body": {"json": {"z": 1, "a": [true]}}
                """#
            let job = try await service.fetch(origin.url("/put?q=1&q=2"), request: request)
            let href = try #require(member(job, "body", "href", as: String.self))
            let echo = try await service.request(.get, href).json
            #expect(member(echo, "data") == #"{"z":1,"a":[true]}"#)
            #expect(member(echo, "headers", "X-One") == "1")
            #expect(member(echo, "headers", "Accept") == "a/b")
            #expect(member(echo, "headers", "Content-Type") == "application/json")
            #expect(member(echo, "args", "q") == ["1", "2"])
        }
    }

    // Each hop is a transfer of its own.
    // Proves: RED-1, TSK-13, CON-5.
    @Test func `redirects are followed, returned or refused as the job says`() async throws {
        let origin = try await LoopbackServer.httpbin()
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let url = origin.url("/redirect/3")
            let followed = try await service.fetch(url)
            #expect(member(followed, "redirects", as: [Any].self)?.count == 3)
            #expect(member(followed, "attempts", "0", "metrics", as: [Any].self)?.count == 4)
            #expect(member(followed, "response", "url") == origin.url("/get"))
            let policy = { (name: String) in #", "configuration": {"redirects": {"policy": "\#(name)"}}"# }
            let returned = try await service.fetch(url, more: policy("return"))
            #expect(member(returned, "response", "status") == 302)
            let refused = try await service.fetch(url, more: policy("fail"))
            #expect(member(refused, "state") == "failed")
            let few = #", "configuration": {"redirects": {"maximum": 2}}"#
            let tooMany = try await service.fetch(url, more: few)
            #expect(member(tooMany, "error", "name") == "httpTooManyRedirects")
        }
    }

    @Test func `any status of the origin is a success of the job`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let status = head.split(separator: " ")[1].dropFirst()
                try connection.send("HTTP/1.1 \(status) X\r\nContent-Length: 0\r\n\r\n")
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            for status in [200, 404, 500, 503] {
                let job = try await service.fetch(origin.url("/\(status)"))
                #expect(member(job, "state") == "succeeded")
                #expect(member(job, "response", "status") == status)
                #expect(member(job, "body", "bytes") == 0)
            }
        }
    }

    // R4: a transport failure can never look like success.
    // Proves: CON-3.
    @Test func `an answer cut short is a failure with its code`() async throws {
        let origin = try WireOrigin { connection in
            _ = try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart")
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let job = try await service.fetch(origin.url())
            #expect(member(job, "state") == "failed")
            #expect(member(job, "error", "name") == "networkConnectionLost")
            #expect(member(job, "error", "code") == -1005)
            #expect(status(of: job) == 200 && job["body"] == nil)
        }
    }

    @Test func `an origin that is silent longer than the job allows times out`() async throws {
        let origin = try WireOrigin { try $0.receiveToEnd() }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let more = #", "configuration": {"timeouts": {"timeoutIntervalForRequest": 0.2}}"#
            let job = try await service.fetch(origin.url(), more: more)
            #expect(member(job, "error", "name") == "timedOut")
        }
    }

    // Proves: RED-12, SEC-6, SEC-12, SEC-30.
    @Test func `an address that is not opened is refused, also behind a redirect`() async throws {
        let inner = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let outer = try WireOrigin(
            playing: "HTTP/1.1 302 Found\r\nLocation: \(inner.url())\r\nContent-Length: 0\r\n\r\n"
        )
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(outer.port)"]) { service in
            let direct = try await service.fetch(inner.url())
            #expect(member(direct, "error", "name") == "addressForbidden")
            let redirected = try await service.fetch(outer.url())
            #expect(member(redirected, "error", "name") == "redirectTargetForbidden")
            #expect(inner.connections.isEmpty)
        }
    }

    @Test func `a running job is cancelled where it runs`() async throws {
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let origin = try WireOrigin { connection in
            _ = try connection.receiveHead()
            arrival.yield()
            try connection.receiveToEnd()
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let body = #"{"request": {"url": "\#(origin.url())"}}"#
            let submitted = try await service.request(.post, "/v1/jobs", body: body)
            #expect(submitted.status == 202)
            let id = try #require(member(submitted.json, "id", as: String.self))
            for await _ in arrivals { break }
            let asked = try await service.request(.post, "/v1/jobs/\(id)/cancel")
            #expect([200, 202].contains(asked.status))
            let job = try await service.job(id) { member($0, "state") == "cancelled" }
            #expect(member(job, "error", "name") == "cancelled")
        }
    }

    // R49
    // Proves: TSK-14.
    @Test func `a repeated submission under one key is one job`() async throws {
        let origin = try await LoopbackServer.nginx(files: ["a": Data()])
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let body = #"{"request": {"url": "\#(origin.url("/a"))"}}"#
            let headers: HTTPFields = [.idempotencyKey: "\"once\""]
            let first = try await service.request(.post, "/v1/jobs", body: body, headers: headers)
            let again = try await service.request(.post, "/v1/jobs", body: body, headers: headers)
            #expect(member(first.json, "id", as: String.self) == member(again.json, "id"))
            let other = body.replacing("/a\"", with: "/b\"")
            #expect(try await service.request(.post, "/v1/jobs", body: other, headers: headers).status == 422)
        }
    }

    // Proves: SEC-42.
    @Test func `tenants that submit under one key have a job each`() async throws {
        let origin = try await LoopbackServer.nginx(files: ["a": Data()])
        try await ServiceProcess.Place.with(allowing: [origin.rule]) { place in
            let keys = [try await place.key(), try await place.key(tenant: "other")]
            let service = try await ServiceProcess.start(place, key: keys[0])
            let headers: HTTPFields = [.idempotencyKey: "\"once\""]
            var ids: Set<String> = []
            // The second tenant's body is another one: under a key of its own that is refused, under another's it is not.
            for (number, key) in keys.enumerated() {
                let body = #"{"request": {"url": "\#(origin.url("/a"))?\#(number)"}}"#
                for _ in 0..<2 {
                    let answer = try await service.request(
                        .post, "/v1/jobs", body: body, headers: headers, key: key)
                    ids.insert(try #require(member(answer.json, "id", as: String.self), "\(answer.text)"))
                }
                #expect(ids.count == number + 1)
            }
            #expect(try await service.stop() == 0)
        }
    }

    @Test func `a batch answers each line in its place`() async throws {
        let origin = try await LoopbackServer.nginx(files: ["a": Data("x".utf8)])
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            let good = #"{"request":{"url":"\#(origin.url("/a"))"}}"#
            let lines = (0..<1000).map { $0 == 500 ? "{}" : good }.joined(separator: "\n")
            let answer = try await service.request(
                .post,
                "/v1/jobs/batch",
                body: lines,
                headers: [.contentType: "application/x-ndjson"]
            )
            let results = answer.text.split(separator: "\n")
            #expect(results.count == 1000)
            #expect(results[500].contains("/request"))
            #expect(results.filter { $0.contains("job_") }.count == 999)
        }
    }
}
