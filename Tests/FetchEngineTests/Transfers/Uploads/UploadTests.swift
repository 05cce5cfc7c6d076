import FetchEngine
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct UploadTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    private static func put(_ origin: WireOrigin, expecting: Bool = false) throws -> Request {
        var request = Request(url: try URLRecord(origin.url()), method: .put)
        if expecting { request.headerFields[.expect] = "100-continue" }
        return request
    }

    // Proves: UPL-10.
    @Test func `a body waits for the server's word when the request says so`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 100 Continue\r\n\r\n")
            try connection.receive(4)
            try connection.send(Self.ok)
        }
        _ = try await Session().upload(for: Self.put(origin, expecting: true), from: .bytes(Array("body".utf8)))
        #expect(origin.received().contains("\r\nExpect: 100-continue\r\n"))
    }

    // Proves: UPL-10.
    @Test(arguments: [401, 413]) func `a body that the server refuses at once is not sent`(_ status: Int) async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n")
        }
        let (_, response) = try await Session()
            .upload(for: Self.put(origin, expecting: true), from: .bytes(Array("body".utf8)))
        #expect(response.status.code == status)
        #expect(!origin.received().contains("body"))
    }

    // Proves: UPL-10.
    @Test func `a server that knows no expectations gets the request again without`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                if head.contains("Expect:") {
                    try connection.send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 4\r\n\r\noops")
                } else {
                    try connection.receive(4)
                    try connection.send(Self.ok)
                }
            }
        }
        let (body, response) = try await Session()
            .upload(for: Self.put(origin, expecting: true), from: .bytes(Array("body".utf8)))
        #expect(response.status.code == 200 && body == Array("hi".utf8))
    }

    // Proves: UPL-10.
    @Test func `a large body waits by itself, and a smaller one does not`() async throws {
        let size = 1 << 20
        let refusal = "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"
        let origin = try WireOrigin { connection in
            let head = try connection.receiveHead() ?? ""
            if !head.contains("\r\nExpect: 100-continue\r\n") { try connection.receive(size - 1) }
            try connection.send(refusal)
            try connection.receiveToEnd()
        }
        for (number, count) in [size, size - 1].enumerated() {
            let session = Session()
            defer { session.invalidateAndCancel() }
            let task = session.uploadTask(with: try Self.put(origin), from: .bytes(pattern(count)))
            #expect(try await task.data().1.status.code == 413)
            #expect(task.countOfBytesSent == (count == size ? 0 : Int64(count)))
            let sent = origin.connections[number].received
            let head = String(decoding: sent.prefix(1000), as: UTF8.self)
            #expect(head.contains("\r\nExpect: 100-continue\r\n") == (count == size))
            #expect((sent.count < 1000) == (count == size))
        }
    }

    // Proves: UPL-10.
    @Test(.enabled(if: LoopbackServer.nginx != nil))
    func `nginx refuses a large body that it does not want before it is sent`() async throws {
        let server = try await LoopbackServer.nginx(in: TemporaryDirectory(), "client_max_body_size 1m;")
        let request = Request(url: try URLRecord("http://127.0.0.1:\(server.port)/file"), method: .put)
        let task = Session().uploadTask(with: request, from: .bytes(pattern(8 << 20)))
        #expect(try await task.data().1.status.code == 413)
        #expect(task.countOfBytesSent == 0)
    }

    // It says nothing until it has the body, which is what a server does that knows no expectations (RFC 9110 §10.1.1).
    // Proves: UPL-10.
    @Test func `a silent server gets the body after a time`() async throws {
        let size = 1 << 20
        let origin = try WireOrigin { connection in
            let head = try connection.receiveHead() ?? ""
            guard head.contains("\r\nExpect: 100-continue\r\n") else { return }
            let isWhole = try connection.receive(size) == pattern(size)
            if isWhole { try connection.send(Self.ok) }
        }
        let task = Session().uploadTask(with: try Self.put(origin), from: .bytes(pattern(size)))
        let (body, response) = try await task.data()
        #expect(response.status.code == 200 && body == Array("hi".utf8))
        #expect(task.metrics.transactions.map(\.status) == [200])
    }

    // Proves: UPL-6, UPL-11, FN-42.
    @Test func `a stream is asked for again when a redirect keeps the body`() async throws {
        let origin = try WireOrigin { connection in
            for answer in ["HTTP/1.1 307 Moved\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n", Self.ok] {
                try connection.receiveHead()
                try connection.receive(4)
                try connection.send(answer)
            }
        }
        var answers = DelegateLog.Answers()
        answers.stream = {
            let pipe = BodyPipe()
            // Bytes that fit the pipe are written at once.
            try? await pipe.write(Array("body".utf8))
            pipe.finish()
            return pipe
        }
        let log = DelegateLog(answers)
        let session = Session(delegate: log)
        session.uploadTask(withStreamedRequest: try Self.put(origin), length: 4).resume()
        try await log.happened("complete well")
        #expect(log.events.filter { $0 == "stream" }.count == 2)
        #expect(origin.received().ranges(of: "body").count == 2)
    }

    // Proves: UPL-8, FN-58.
    @Test func `a body that nobody has fails the load`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let task = Session().uploadTask(withStreamedRequest: try Self.put(origin))
        await expect(.requestBodyStreamExhausted) { try await task.data() }
    }

    // Proves: UPL-9, LIF-9, CON-12.
    @Test func `what is sent is told before the response, and counted anew when it is sent again`() async throws {
        let origin = try WireOrigin { connection in
            for answer in ["HTTP/1.1 307 Moved\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n", Self.ok] {
                try connection.receiveHead()
                try connection.receive(300_000)
                try connection.send(answer)
            }
        }
        let log = DelegateLog()
        let session = Session(delegate: log)
        let task = session.uploadTask(
            with: try Self.put(origin), from: .bytes([UInt8](repeating: 7, count: 300_000)))
        task.resume()
        try await log.happened("complete well")
        #expect(
            log.events == [
                "created", "sent", "redirect 307 /b", "sent", "response 200", "data", "metrics 2", "complete well",
            ])
        #expect(task.countOfBytesSent == 300_000)
    }

    /// Writes down the reported counts of sent bytes, and opens a gate at the first of each sending.
    private final class Counts: SessionDelegate {
        struct Told: Equatable {
            let last: Int64
            let total: Int64
            let expected: Int64?
        }

        /// The progress that was told of each sending.
        let sendings = Mutex<[[Told]]>([[]])
        private let gates: [Gate]

        init(_ gates: [Gate]) { self.gates = gates }

        func task(_ task: SessionTask, didSendBodyData sent: Int64, totalSent: Int64, totalExpected: Int64?) async {
            let count = sendings.withLock { sendings in
                sendings[sendings.count - 1].append(Told(last: sent, total: totalSent, expected: totalExpected))
                return sendings.count
            }
            gates[count - 1].open()
        }

        func task(
            _ task: SessionTask, willPerformHTTPRedirection response: Response?, newRequest: Request
        ) async -> RedirectDisposition {
            sendings.withLock { $0.append([]) }
            return .performDefaultHandling
        }
    }

    // The origin takes nothing before some was told, so that more is told later.
    // Proves: UPL-9, LIF-9, CON-12.
    @Test func `the last bytes, all so far and those expected are told, from zero for each sending`() async throws {
        let size = 24 << 20
        let gates = [Gate(), Gate()]
        let origin = try WireOrigin { connection in
            for (gate, answer) in zip(gates, ["HTTP/1.1 307 M\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n", Self.ok]) {
                try connection.receiveHead()
                try gate.wait()
                try connection.receive(size)
                try connection.send(answer)
            }
        }
        let counts = Counts(gates)
        let task = Session(delegate: counts).uploadTask(with: try Self.put(origin), from: .bytes(pattern(size)))
        task.resume()
        try await until { task.state == .completed }
        #expect(task.response?.status.code == 200)
        let sendings = counts.sendings.withLock { $0 }
        #expect(sendings.count == 2)
        for told in sendings {
            #expect(told.count > 1 && told.allSatisfy { $0.last > 0 && $0.expected == Int64(size) })
            var total: Int64 = 0
            for one in told {
                total += one.last
                #expect(one.total == total)
            }
            #expect(total == Int64(size))
        }
    }

    // The origin says nothing before it has everything, which takes longer than a pause may.
    // Proves: URL-5.
    @Test func `a byte that is sent starts the idle interval anew`() async throws {
        let count = Progress()
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            while true {
                let size = Int(try connection.receiveLine(), radix: 16) ?? 0
                try connection.receive(size + 2)
                count.add(size)
                if size == 0 { break }
            }
            try connection.send(Self.ok)
        }
        let pipe = BodyPipe()
        var request = try Self.put(origin)
        request.body = .stream(pipe)
        request.timeoutInterval = .seconds(2)
        let task = Session().dataTask(with: request)
        async let answer = task.data()
        let start = ContinuousClock.now
        var written = 0
        while ContinuousClock.now - start < .seconds(3) {
            try await pipe.write([1])
            written += 1
            try await until { count.value == written }
            try await Task.sleep(for: .milliseconds(100))
        }
        pipe.finish()
        #expect(try await answer.1.status.code == 200)
    }
}
