import FetchEngine
import Foundation
import Glibc
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// The progress that clients see who follow the bytes of a job.
@Suite(.sharedService(), .timeLimit(.minutes(2))) struct ProgressTests {
    /// The values of a member of all progress.
    private func counts(_ name: String, _ events: [ToldEvent]) -> [Int?] {
        events.filter { $0.name == "job.progress" }.map { $0.data[name] as? Int }
    }

    // Proves: BEY-7.
    @Test func `progress says how fast bytes come, and how long the rest takes`() async throws {
        let rig = try SharedService.current
        let gate = Gate()
        let play = rig.stage.serve { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n")
            try connection.send(pattern(100_000))
            try gate.wait()
            try connection.send(pattern(300_000))
        }
        let id = try await rig.submit(#"{"request": "\#(play.url())"}"#)
        let job = try await rig.service.job(id) { member($0, "progress", "bytesReceived") == 100_000 }
        let speed = try #require(member(job, "progress", "bytesPerSecond", as: Double.self), "\(job)")
        let rest = try #require(member(job, "progress", "etaSeconds", as: Double.self), "\(job)")
        #expect(speed > 0 && abs(rest * speed / 300_000 - 1) < 0.2, "\(speed) \(rest)")
        gate.open()
        _ = try await rig.service.job(id) { member($0, "state") == "succeeded" }
    }

    // MARK: Sending

    // Each time the body has to be sent the client is asked for it.
    // Proves: LIF-8, UPL-6.
    @Test func `a streamed body is asked for by an event, and again after a redirect`() async throws {
        let rig = try SharedService.current
        let play = rig.stage.play(answer("307 There", "Location: next"), answer())
        let request = #""request": {"url": "\#(play.url())", "method": "PUT", "body": {"stream": true}}"#
        let sent = Progress()
        let list = try await rig.followed(request) { id, events in
            // The client sends nothing before it is asked to.
            let wanted = events.count { $0.name == "job.bodyWanted" }
            while sent.value < wanted {
                let text = sent.add(1) == 1 ? "once" : "twice"
                let put = try await rig.service.send(.put, "/v1/jobs/\(id)/body", .bytes(Array(text.utf8)))
                #expect(put.status == 204)
            }
        }
        #expect(
            list.map(\.name) == [
                "job.started", "job.bodyWanted", "job.redirected", "job.bodyWanted", "job.response", "job.finished",
            ])
        #expect(play.requests.map(\.body) == [Array("once".utf8), Array("twice".utf8)])
    }

    // The origin reads nothing before the client was told of bytes that are under way, and answers when it has been
    // told of all.
    // Proves: LIF-9, CON-12.
    @Test func `what is sent is told again and again, and how much there is to send`() async throws {
        let rig = try SharedService.current
        let size = 24 << 20
        let (isBegun, isTold) = (Gate(), Gate())
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try isBegun.wait()
            try connection.receive(size)
            try isTold.wait()
            try connection.send(answer())
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let own = Rig(service: service, place: rig.place, stage: rig.stage, other: rig.other, servers: [:])
            let blob = try await service.send(.post, "/v1/blobs", .bytes(pattern(size)))
            let id = try #require(member(blob.json, "id", as: String.self), "\(blob.text)")
            let list = try await own.followed(
                #""kind": "upload", "request": {"url": "\#(origin.url())", "method": "PUT", "body": {"blob": "\#(id)"}}, "#
                    + #""configuration": {"upload": {"expectContinue": "never"}}"#,
                hasProgress: true
            ) { _, events in
                let last = events.last { $0.name == "job.progress" }?.data["bytesSent"] as? Int ?? 0
                if last > 0 { isBegun.open() }
                if last == size { isTold.open() }
            }
            let sent = counts("bytesSent", list).compactMap { $0 }
            #expect(sent == sent.sorted() && Set(sent).count == sent.count, "\(sent)")
            #expect(sent.contains { 0 < $0 && $0 < size } && sent.last == size, "\(sent)")
            #expect(counts("bytesExpectedToSend", list).allSatisfy { $0 == size })
            #expect(list.last?.name == "job.finished" && member(list.last?.data ?? [:], "state") == "succeeded")
        }
    }

    // The first bytes that are sent again are counted anew, and told to be those of another sending.
    // Proves: UPL-9.
    @Test func `what is sent is counted from zero for each sending`() async throws {
        let rig = try SharedService.current
        let size = 24 << 20
        let gates = [Gate(), Gate()]
        let origin = try WireOrigin { connection in
            for (gate, answer) in zip(gates, [answer("307 There", "Location: next"), answer()]) {
                try connection.receiveHead()
                if gate === gates[1] { try gate.wait() }
                try connection.receive(size)
                try gate.wait()
                try connection.send(answer)
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let own = Rig(service: service, place: rig.place, stage: rig.stage, other: rig.other, servers: [:])
            let blob = try await service.send(.post, "/v1/blobs", .bytes(pattern(size)))
            let id = try #require(member(blob.json, "id", as: String.self), "\(blob.text)")
            let list = try await own.followed(
                #""kind": "upload", "request": {"url": "\#(origin.url())", "method": "PUT", "body": {"blob": "\#(id)"}}, "#
                    + #""configuration": {"upload": {"expectContinue": "never"}}"#,
                hasProgress: true
            ) { _, events in
                let sent = events.filter { $0.name == "job.progress" }.compactMap { $0.data["bytesSent"] as? Int }
                guard let first = sent.firstIndex(of: size) else { return }
                gates[0].open()
                if sent[first...].contains(where: { 0 < $0 && $0 < size }) { gates[1].open() }
            }
            let redirect = try #require(list.firstIndex { $0.name == "job.redirected" })
            let (first, second) = (Array(list[..<redirect]), Array(list[redirect...]))
            #expect(counts("bytesSent", first).last == size)
            let again = counts("bytesSent", second).compactMap { $0 }
            #expect(again.contains { 0 < $0 && $0 < size } && again == again.sorted(), "\(again)")
            // Before its first byte there is no sending.
            #expect(Set(counts("sending", first).compactMap { $0 }) == [1])
            #expect(Set(counts("sending", second).compactMap { $0 }) == [2])
        }
    }

    // MARK: Receiving

    // The more there is to tell the more would come: the origin sends a hundred pieces a second.
    // Proves: LIF-10.
    @Test func `progress is told twice a second at most`() async throws {
        let rig = try SharedService.current
        let isOver = Progress()
        let play = rig.stage.serve { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in 0..<2000 where isOver.value == 0 {
                try connection.send("1\r\nx\r\n")
                usleep(10_000)
            }
            try connection.send("0\r\n\r\n")
        }
        let start = ContinuousClock.now
        let list = try await rig.followed(#""request": "\#(play.url())""#, hasProgress: true) { _, events in
            if events.count(where: { $0.name == "job.progress" }) == 5 { isOver.add(1) }
        }
        let time = ContinuousClock.now - start
        let received = counts("bytesReceived", list).compactMap { $0 }
        #expect(received.count >= 5 && received == received.sorted())
        #expect(Set(received).count == received.count, "what has not changed is not told again")
        #expect(received.count <= Int(time / .milliseconds(500)) + 1, "\(received.count) in \(time)")
    }

    // Proves: DLD-6.
    @Test(arguments: ["data", "download"])
    func `there is no fraction of a length that nobody knows`(_ kind: String) async throws {
        let rig = try SharedService.current
        let gate = Gate()
        let play = rig.stage.serve { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n")
            try gate.wait()
            try connection.send("0\r\n\r\n")
        }
        let running = Mutex<String>("")
        let list = try await rig.followed(
            #""kind": "\#(kind)", "request": "\#(play.url("f"))""#, hasProgress: true
        ) { id, events in
            guard events.last(where: { $0.name == "job.progress" })?.data["bytesReceived"] as? Int == 4 else { return }
            let job = try await rig.service.request(.get, "/v1/jobs/\(id)")
            running.withLock { $0 = $0.isEmpty ? job.text : $0 }
            gate.open()
        }
        let told = list.filter { $0.name == "job.progress" }
        #expect(told.contains { $0.data["bytesReceived"] as? Int == 4 })
        #expect(told.allSatisfy { $0.data["fraction"] == nil && $0.data["bytesExpectedToReceive"] == nil })
        let text = running.withLock { $0 }
        let job = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
        #expect(member(job, "progress", "bytesReceived") == 4)
        #expect(member(job, "progress", "fraction", as: Double.self) == nil)
        // Progress begins with the response.
        guard kind == "download" else { return }
        let response = try #require(list.firstIndex { $0.name == "job.response" })
        #expect(counts("bytesReceived", Array(list[..<response])).allSatisfy { $0 == 0 })
    }

    // Each part is held until the client was told of its first bytes.
    // Proves: RSP-8, MPR-4.
    @Test(arguments: ["last", "all"])
    func `progress starts anew with each part of a body`(_ keeping: String) async throws {
        let rig = try SharedService.current
        // The first one is more than a job waits for before it looks at its content.
        let sizes = [200_000, 50, 70_000]
        let gates = sizes.map { _ in Gate() }
        let play = rig.stage.serve { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=b\r\n")
            try connection.send("Transfer-Encoding: chunked\r\n\r\n")
            func send(_ text: String) throws {
                try connection.send("\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n")
            }
            for (size, gate) in zip(sizes, gates) {
                let content = String(repeating: "x", count: size / 2)
                try send("--b\r\nContent-Type: text/plain\r\nContent-Length: \(size)\r\n\r\n\(content)")
                try gate.wait()
                try send(content + "\r\n")
            }
            try send("--b--\r\n")
            try connection.send("0\r\n\r\n")
        }
        let list = try await rig.followed(
            #""request": "\#(play.url())", "configuration": {"response": {"multipartReplace": "\#(keeping)"}}"#,
            hasProgress: true
        ) { _, events in
            let told = events.filter { $0.name == "job.progress" }.map(\.data)
            for (size, gate) in zip(sizes, gates)
            where told.contains(where: {
                $0["bytesReceived"] as? Int == size / 2 && $0["bytesExpectedToReceive"] as? Int == size
                    && $0["fraction"] as? Double == 0.5
            }) {
                gate.open()
            }
        }
        let responses = list.indices.filter { list[$0].name == "job.response" }
        #expect(responses.map { list[$0].data["part"] as? Int } == [1, 2, 3])
        #expect(responses.map { list[$0].data["expectedContentLength"] as? Int } == sizes)
        for (number, start) in responses.enumerated() {
            let end = number + 1 < responses.count ? responses[number + 1] : list.endIndex
            let counts = counts("bytesReceived", Array(list[start..<end])).compactMap { $0 }
            #expect(counts.contains(sizes[number] / 2) && counts == counts.sorted(), "\(number): \(counts)")
            #expect(counts.allSatisfy { $0 <= sizes[number] })
        }
        #expect(member(list.last?.data ?? [:], "state") == "succeeded")
    }

    /// The events of a download that breaks off, and of the origin's response then.
    private func resumed(_ rest: String) async throws -> ([ToldEvent], Stage.Play) {
        let rig = try SharedService.current
        let head = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nAccept-Ranges: bytes\r\nContent-Length: 8\r\n\r\n"
        let play = rig.stage.serve { number, connection in
            try connection.send(number == 0 ? head + "part" : rest)
            if number == 0 { throw CancellationError() }
        }
        let list = try await rig.followed(
            #""kind": "download", "request": "\#(play.url("f"))", "#
                + #""configuration": {"retry": {"maximumAttempts": 2, "backoff": {"initial": 0.01}}}"#,
            hasProgress: true)
        #expect(member(list.last?.data ?? [:], "state") == "succeeded", "\(list)")
        #expect(play.requests.map { $0.values("range") } == [[], ["bytes=4-"]])
        return (list, play)
    }

    // Proves: LIF-5.
    @Test func `a download that goes on tells from where before it tells how far it is`() async throws {
        let rest = "HTTP/1.1 206 P\r\nETag: \"a\"\r\nContent-Range: bytes 4-7/8\r\nContent-Length: 4\r\n\r\nrest"
        let (list, _) = try await resumed(rest)
        let place = try #require(list.firstIndex { $0.name == "job.resumedAtOffset" }, "\(list)")
        #expect(list.count { $0.name == "job.resumedAtOffset" } == 1)
        #expect(list[place].data["offset"] as? Int == 4 && list[place].data["bytesExpectedToReceive"] as? Int == 8)
        // Right behind the response of the second attempt.
        #expect(list[place].id == "2.3" && list[place - 1].name == "job.response" && list[place - 1].id == "2.2")
        #expect(counts("bytesReceived", Array(list[..<place])).allSatisfy { ($0 ?? 0) <= 4 })
        #expect(counts("bytesReceived", Array(list[place...])).allSatisfy { ($0 ?? 0) >= 4 })
    }

    // Proves: LIF-5.
    @Test func `a download that is sent whole does not tell that it goes on`() async throws {
        let (list, _) = try await resumed(answer("200 OK", "ETag: \"b\"", body: "all of it"))
        #expect(!list.contains { $0.name == "job.resumedAtOffset" })
        #expect(member(list.last?.data ?? [:], "body", "bytes") == 9)
    }
}
