import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// In which order things happen to a job, and who hears of them.
@Suite(.sharedServiceAndHTTPBin) struct OrderTests {
    // The response, progress, and the end, once.
    // Proves: BEY-11, LIF-10, LIF-13, LIF-18, RSP-6, RSP-7, CON-9, TSK-12.
    @Test(arguments: ["data", "download"])
    func `events come in order, and the end comes once`(_ kind: String) async throws {
        let rig = try SharedService.current
        let gates = [Gate(), Gate()]
        let play = rig.stage.serve { _, connection in
            try connection.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nSet-Cookie: a=secret\r\n\r\n")
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n")
            for gate in gates {
                try connection.send(pattern(100_000))
                try gate.wait()
            }
            try connection.send(pattern(100_000))
        }
        let id = try await rig.submit(#"{"kind": "\#(kind)", "request": "\#(play.url("f"))"}"#)
        var (text, opened) = ("", 0)
        for try await chunk in try await rig.service.stream("/v1/jobs/\(id)/events").0 {
            text += String(decoding: chunk, as: UTF8.self)
            // Each part waits until that before it was told of.
            while opened < gates.count, text.contains("\"bytesReceived\":\((opened + 1) * 100_000)") {
                gates[opened].open()
                opened += 1
            }
        }
        let list = ToldEvent.all(in: text)
        #expect(list.last?.name == "job.finished")
        let before = list.prefix { $0.name != "job.response" }
        #expect(before.first?.name == "job.started")
        let progress = before.filter { $0.name == "job.progress" }
        #expect(progress.allSatisfy { $0.data["bytesReceived"] as? Int == 0 })
        let hints = before.filter { $0.name != "job.progress" }.dropFirst()
        #expect(hints.map(\.name) == ["job.informational"] && member(hints.last?.data ?? [:], "status") == 103)
        #expect(hints.last?.text.contains("</a>") == true && hints.last?.text.contains("secret") == false)
        #expect(list.filter { $0.name == "job.response" }.count == 1)
        #expect(list.filter { $0.name == "job.finished" }.count == 1)
        #expect(member(list.first { $0.name == "job.response" }?.data ?? [:], "status") == 200)
        let counts = list.filter { $0.name == "job.progress" }.compactMap { $0.data["bytesReceived"] as? Int }
        #expect(counts == counts.sorted() && !counts.isEmpty)
        #expect(list.compactMap(\.number) == Array(1...list.compactMap(\.number).count))
        // A client that comes later is told of the end, and of nothing after it.
        let later = try await rig.events(of: id)
        #expect(later.map(\.name) == ["job.finished"])
        #expect(member(later[0].data, "state") == "succeeded")
    }

    // A client that was there from the beginning misses nothing.
    // Proves: LIF-18, RSP-7.
    @Test func `a job that is over in no time is told of whole`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("200 OK", "X-Short: 1", body: "x"))
        let list = try await rig.followed(#""request": "\#(play.url())""#)
        try #require(list.map(\.name) == ["job.started", "job.response", "job.finished"])
        #expect(list[1].text.contains("X-Short"))
    }

    // Each step on the way comes before its results.
    // Proves: LIF-4, LIF-18, AUT-3, AUT-15, AUT-21.
    @Test func `what a load meets is told in its order`() async throws {
        let rig = try SharedService.current
        let refused = rig.stage.play(answer("401 Unauthorized", #"WWW-Authenticate: Basic realm="r""#))
        let play = rig.stage.play(answer("302 Found", "Location: \(refused.url("b"))"))
        let list = try await rig.followed(#""request": "\#(play.url("a"))""#)
        let names = ["job.started", "job.redirected", "job.challenged", "job.response", "job.finished"]
        try #require(list.map(\.name) == names)
        #expect(list.compactMap(\.number) == [1, 2, 3, 4])
        #expect(member(list[1].data, "location") == refused.url("b"))
        #expect(member(list[2].data, "protectionSpace", "realm") == "r")
        #expect(member(list[2].data, "answer") == "performDefaultHandling")
        #expect(member(list[4].data, "challenges", "0", "protectionSpace", "authenticationMethod") == "httpBasic")
    }

    // Proves: DLD-5.
    @Test func `a download tells what its file is called`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("200 OK", body: "content"))
        let list = try await rig.followed(#""kind": "download", "request": "\#(play.url("named.txt"))""#)
        let created = try #require(list.first { $0.name == "job.destinationCreated" })
        #expect(member(created.data, "filename", as: String.self) == member(list.last?.data ?? [:], "file", "filename"))
    }

    // Waited for, polled, followed, or told of by webhook.
    // Proves: CON-1.
    @Test func `however a job is asked for, the outcome is the same`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("200 OK", "Content-Type: a/b", body: "same"))
        let hook = rig.other.play("HTTP/1.1 204 No Content\r\n\r\n")
        let endpoint = try await rig.service.request(
            .post, "/v1/webhooks/endpoints", body: #"{"url": "\#(hook.url("hook"))"}"#)
        let name = try #require(member(endpoint.json, "id", as: String.self), "\(endpoint.text)")
        let waited = try await rig.service.fetch(play.url(), more: #", "webhook": {"endpoint": "\#(name)"}"#)
        try await until { !hook.requests.isEmpty }
        let message = try JSONSerialization.jsonObject(with: Data(hook.requests[0].body)) as? [String: Any]
        let told = try #require(member(message ?? [:], "data", "job", as: [String: Any].self))
        #expect(member(told, "id") == member(waited, "id", as: String.self))
        let id = try await rig.submit(#"{"request": "\#(play.url())"}"#)
        let followed = try #require(try await rig.events(of: id).last?.data)
        let polled = try await rig.service.job(id) { member($0, "state") == "succeeded" }
        let outcomes = [waited, followed, polled, told]
        for name in ["response", "body"] {
            let parts = outcomes.map { outcome in
                var part = outcome[name] as? [String: Any] ?? [:]
                for member in ["href", "cacheStatus"] { part[member] = nil }
                return NSDictionary(dictionary: part)
            }
            #expect(parts.allSatisfy { $0 == parts[0] && $0.count > 0 }, "\(parts)")
        }
    }

    // Proves: CON-2.
    @Test func `those who wait for jobs hold up nobody`() async throws {
        let rig = try SharedService.current
        let gate = Gate()
        let play = rig.stage.serve { _, connection in
            try gate.wait()
            try connection.send(answer())
        }
        let body =
            #"{"request": "\#(play.url())", "configuration": {"connections": {"maximumPerHost": 200}, "cache": "#
            + #"{"requestCachePolicy": "reloadIgnoringLocalCacheData"}}}"#
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    try await rig.service.request(.post, "/v1/jobs", body: body, headers: [.prefer: "wait=30"]).status
                }
            }
            try await until { play.requests.count == 100 }
            #expect(try await rig.service.request(.get, "/healthz").status == 200)
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 201, count: 100))
    }

    // R34: a client that waits gets the job as it is, when its time is over.
    // Proves: CON-2.
    @Test func `a wait has an end, and the job goes on`() async throws {
        let rig = try SharedService.current
        let gate = Gate()
        let play = rig.stage.serve { _, connection in
            try gate.wait()
            try connection.send(answer())
        }
        let asked = try await rig.service.request(
            .post, "/v1/jobs", body: #"{"request": "\#(play.url())"}"#, headers: [.prefer: "wait=1"])
        #expect(asked.status == 202)
        let place = try #require(asked.headers[.location])
        #expect(["queued", "running"].contains(member(asked.json, "state")))
        gate.open()
        _ = try await rig.service.job(String(place.dropFirst("/v1/jobs/".count))) { member($0, "state") == "succeeded" }
    }

    // In every state, a job ends cancelled, and only once.
    // Proves: TSK-5, TSK-6, TSK-8.
    @Test(arguments: ["suspended", "scheduled", "running", "succeeded"])
    func `a job can be cancelled in every state`(_ state: String) async throws {
        let rig = try SharedService.current
        let gate = Gate()
        let play = rig.stage.serve { _, connection in
            if state == "running" { try gate.wait() }
            try connection.send(answer())
        }
        let more = [
            "suspended": #", "suspended": true"#, "scheduled": #", "runAt": "2999-01-01T00:00:00Z""#,
        ]
        let id = try await rig.submit(#"{"request": "\#(play.url())"\#(more[state] ?? "")}"#)
        _ = try await rig.service.job(id) { member($0, "state") == state }
        if state == "running" { try await until { play.requests.count == 1 } }
        for _ in 0..<2 {
            let asked = try await rig.service.request(.post, "/v1/jobs/\(id)/cancel")
            #expect([200, 202].contains(asked.status))
        }
        let end = state == "succeeded" ? state : "cancelled"
        let job = try await rig.service.job(id) { member($0, "state") == end }
        #expect(errorName(of: job) == (state == "succeeded" ? nil : "cancelled"))
        #expect(member(job, "error", "code") == (state == "succeeded" ? nil : -999))
        #expect(play.requests.count == (["running", "succeeded"].contains(state) ? 1 : 0))
        #expect(try await rig.events(of: id).map(\.name) == ["job.finished"])
        gate.open()
    }

    // The parts of a transfer lie in its whole, and its bytes are those of the wire.
    // Proves: BEY-1, BEY-6.
    @Test func `each transfer is measured`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("307 There", "Location: next"), answer(body: "12345"))
        let job = try await rig.fetch(play.url(), #""method": "PUT", "body": {"text": "123"}"#)
        let transfers = try #require(member(job, "attempts", "0", "metrics", as: [[String: Any]].self))
        #expect(transfers.map { $0["status"] as? Int } == [307, 200])
        #expect(transfers.map { $0["isReusedConnection"] as? Bool } == [false, true])
        for (transfer, request) in zip(transfers, play.requests) {
            let duration = try #require(transfer["duration"] as? Double)
            for phase in ["domainLookup", "connect", "request", "response"] {
                guard let times = transfer[phase] as? [Double] else { continue }
                #expect(0 <= times[0] && times[0] <= times[1] && times[1] <= duration + 0.001, "\(phase)")
            }
            #expect(transfer["countOfRequestBodyBytesSent"] as? Int == 3)
            #expect(transfer["countOfRequestHeaderBytesSent"] as? Int == request.head.utf8.count)
        }
        #expect(transfers[1]["countOfResponseBodyBytesReceived"] as? Int == 5)
    }

    // httpbin sends 200 bytes of JSON or so in a content coding.
    // Proves: BEY-1.
    @Test(arguments: ["gzip", "deflate"])
    func `the bytes of a body are told before and after its coding was undone`(_ coding: String) async throws {
        let rig = try SharedService.current
        let job = try await rig.fetch(try rig.bin("/\(coding)"))
        let transfer = try #require(member(job, "attempts", "0", "metrics", "0", as: [String: Any].self))
        let received = try #require(transfer["countOfResponseBodyBytesReceived"] as? Int)
        let decoded = try #require(transfer["countOfResponseBodyBytesAfterDecoding"] as? Int)
        #expect(decoded > received && received > 0)
        #expect(member(job, "body", "bytes") == decoded)
        let plain = try await rig.fetch(try rig.bin("/get"))
        #expect(member(plain, "attempts", "0", "metrics", "0", as: [String: Any].self)?.keys.contains("url") == true)
        #expect(
            member(plain, "attempts", "0", "metrics", "0", "countOfResponseBodyBytesAfterDecoding", as: Int.self) == nil
        )
    }

    // Proves: BEY-1.
    @Test func `a transfer tells that its response was stored`() async throws {
        let rig = try SharedService.current
        let session = try await rig.makeSession()
        let play = rig.stage.play(answer("200 OK", "Cache-Control: max-age=60", body: "x"))
        var sources: [String?] = []
        for _ in 0..<2 {
            let job = try await rig.fetch(play.url(), session: session)
            sources.append(member(job, "attempts", "0", "metrics", "0", "resourceFetchType"))
        }
        #expect(sources == [nil, "localCache"] && play.requests.count == 1)
    }

    // The redirect's transfer too; the job is what both ways tell last.
    // Proves: BEY-1.
    @Test func `the event of a job's end has what was measured`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("302 Found", "Location: next"), answer(body: "x"))
        let hook = rig.other.play("HTTP/1.1 204 No Content\r\n\r\n")
        let endpoint = try await rig.service.request(
            .post, "/v1/webhooks/endpoints", body: #"{"url": "\#(hook.url("hook"))"}"#)
        let name = try #require(member(endpoint.json, "id", as: String.self), "\(endpoint.text)")
        let job = try await rig.service.fetch(play.url(), more: #", "webhook": {"endpoint": "\#(name)"}"#)
        let id = try #require(member(job, "id", as: String.self))
        try await until { !hook.requests.isEmpty }
        let message = try JSONSerialization.jsonObject(with: Data(hook.requests[0].body)) as? [String: Any]
        let told = try #require(member(message ?? [:], "data", "job", as: [String: Any].self))
        let followed = try #require(try await rig.events(of: id).last?.data)
        let measured = try [job, told, followed].map { job in
            NSArray(array: try #require(member(job, "attempts", "0", "metrics", as: [[String: Any]].self)))
        }
        #expect(measured[0].count == 2 && measured[1] == measured[0] && measured[2] == measured[0])
    }

    // R31
    @Test(arguments: ["data", "download", "upload"])
    func `a job of any kind is measured, whatever came of it`(_ kind: String) async throws {
        let rig = try SharedService.current
        let (good, bad) = (rig.stage.play(answer()), rig.stage.cut("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"))
        for (play, state) in [(good, "succeeded"), (bad, "failed")] {
            let request = kind == "upload" ? #""method": "PUT", "body": {"text": "123"}"# : ""
            let job = try await rig.fetch(play.url(), request, more: #""kind": "\#(kind)""#)
            #expect(member(job, "state") == state)
            #expect(member(job, "attempts", "0", "metrics", "0", "remoteAddress") == "127.0.0.1", "\(job)")
        }
    }

    // Proves: BEY-25.
    @Test func `trailers are told`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 7\r\n\r\n")
        for kind in ["data", "download"] {
            let job = try await rig.fetch(play.url(), more: #""kind": "\#(kind)""#)
            #expect(
                member(job, "response", "trailers", as: [[String: String]].self) == [["name": "X-Sum", "value": "7"]])
        }
    }

    // R16: a missing origin is waited for.
    // Proves: BEY-2.
    @Test func `a job can wait for its origin, and tells once that it does`() async throws {
        let origin = try WireOrigin(isOpen: false) { connection in
            while try connection.receiveHead() != nil { try connection.send(answer()) }
        }
        let receiver = try WebhookReceiver()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)", receiver.rule]) { service in
            let configuration =
                #"{"connections": {"waitsForConnectivity": true}, "timeouts": {"timeoutIntervalForResource": 60}}"#
            let hook = #"{"url": "http://\#(receiver.rule)/hook", "events": ["job.waitingForConnectivity"]}"#
            let body =
                #"{"request": "\#(origin.url("/a?b"))", "configuration": \#(configuration), "webhook": \#(hook)}"#
            let asked = try await service.request(.post, "/v1/jobs", body: body)
            let id = try #require(member(asked.json, "id", as: String.self), "\(asked.text)")
            var (text, isOpen) = ("", false)
            for try await chunk in try await service.stream("/v1/jobs/\(id)/events").0 {
                text += String(decoding: chunk, as: UTF8.self)
                guard !isOpen, text.contains("event: job.waitingForConnectivity\n") else { continue }
                try origin.open()
                isOpen = true
            }
            let events = ToldEvent.all(in: text).filter { $0.name != "job.progress" }
            let names = ["job.started", "job.waitingForConnectivity", "job.response", "job.finished"]
            try #require(events.map(\.name) == names)
            #expect(member(events[1].data, "url") == origin.url("/a?b"))
            #expect(member(events[3].data, "response", "status") == 200)
            #expect(member(events[3].data, "attempts", as: [Any].self)?.count == 1)
            let message = try await receiver.next()
            let json = try #require(try JSONSerialization.jsonObject(with: Data(message.body)) as? [String: Any])
            #expect(member(json, "type") == "job.waitingForConnectivity" && member(json, "data", "sequence") == "1.2")
            #expect(member(json, "data", "details", "url") == origin.url("/a?b"))
        }
    }
}
