import EventLoop
import FetchEngine
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct TaskTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    // Proves: TSK-11, CON-1, CON-3.
    @Test func `a completion handler gets the whole body, and the delegate is only asked`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                try connection.send(
                    head.hasPrefix("GET /first ")
                        ? "HTTP/1.1 302 Found\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n" : Self.ok)
            }
        }
        let log = DelegateLog()
        let session = Session(delegate: log)
        let request = Request(url: try URLRecord(origin.url("/first")))
        let (body, response) = try await withCheckedThrowingContinuation { continuation in
            session.dataTask(with: request) { continuation.resume(with: $0) }.resume()
        }
        #expect(body == Array("hi".utf8) && response.status.code == 200)
        session.finishTasksAndInvalidate()
        try await log.happened("invalid")
        #expect(log.events == ["created", "redirect 302 /second", "metrics 2", "invalid"])
    }

    // Proves: CON-3, ERR-5.
    @Test func `a completion handler gets an error and no part of the body`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhi")
        }
        let request = Request(url: try URLRecord(origin.url()))
        await expect(.networkConnectionLost) {
            try await withCheckedThrowingContinuation { continuation in
                Session().dataTask(with: request) { continuation.resume(with: $0) }.resume()
            }
        }
    }

    // Proves: TSK-5, TSK-6.
    @Test func `a task that was not resumed sends nothing, and one resumed twice is sent once`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let log = DelegateLog()
        let session = Session(delegate: log)
        let task = session.dataTask(with: Request(url: try URLRecord(origin.url())))
        #expect(task.state == .suspended && session.allTasks.map(\.identifier) == [task.identifier])
        task.suspend()
        task.resume()
        task.resume()
        try await log.happened("complete well")
        #expect(origin.received().components(of: "GET ") == 1)
        #expect(task.state == .completed)
    }

    // Between the word and the end that is told.
    // Proves: TSK-6.
    @Test func `a task that was cancelled is canceling until its end`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try gate.wait()
        }
        let loop = TaskLoop(name: "held")
        let session = Session(delegate: DelegateLog(), transferLoop: TransferLoop(loop))
        let task = session.dataTask(with: Request(url: try URLRecord(origin.url())))
        #expect(task.state == .suspended)
        task.resume()
        try await until { task.state == .running }
        let states = await LoopHolder(loop).run {
            let before = task.state
            task.cancel()
            return [before, task.state]
        }
        #expect(states == [.running, .canceling])
        try await until { task.state == .completed }
        #expect(task.error?.code == .cancelled)
        gate.open()
    }

    // Proves: TSK-7, FN-49.
    @Test func `a suspended transfer goes on where it was, and every byte is delivered once`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nfirst ")
            try gate.wait()
            try connection.send("second")
        }
        let task = Session().dataTask(with: Request(url: try URLRecord(origin.url())))
        _ = try await task.response()
        var chunks = task.body.makeAsyncIterator()
        var body = try await chunks.next() ?? []
        task.suspend()
        #expect(task.state == .suspended)
        gate.open()
        task.resume()
        while let chunk = try await chunks.next() { body += chunk }
        #expect(body == Array("first second".utf8))
        #expect(origin.connections.count == 1 && origin.received().components(of: "GET ") == 1)
    }

    // Proves: BEY-4, FN-32.
    @Test func `of the tasks that wait for a connection the one of the highest priority goes first`() async throws {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                if head.hasPrefix("GET /first ") { try gate.wait() }
                try connection.send(Self.ok)
            }
        }
        var configuration = SessionConfiguration()
        configuration.httpMaximumConnectionsPerHost = 1
        let session = Session(configuration: configuration)
        let log = DelegateLog()
        let first = session.dataTask(with: try URLRecord(origin.url("/first")))
        async let firstEnd = first.data()
        try await until { !origin.received().isEmpty }
        let tasks = try [("/low", SessionTask.lowPriority), ("/usual", 0.5), ("/high", SessionTask.highPriority)]
            .map { path, priority in
                let task = session.dataTask(with: try URLRecord(origin.url(path)), delegate: log)
                task.priority = priority
                return task
            }
        for task in tasks { task.resume() }
        try await until { tasks.allSatisfy { $0.state == .running } }
        gate.open()
        _ = try await firstEnd
        try await until { tasks.allSatisfy { $0.state == .completed } }
        let lines = origin.received().split(separator: "\r\n").filter { $0.hasPrefix("GET ") }
        let paths = lines.map { $0.split(separator: " ")[1] }
        #expect(paths == ["/first", "/high", "/usual", "/low"])
    }

    // Proves: BEY-2, FN-22, LIF-14.
    @Test func `a task waits for a server that comes later, and says so once`() async throws {
        let origin = try WireOrigin(isOpen: false) { connection in
            try connection.receiveHead()
            try connection.send(Self.ok)
        }
        var configuration = SessionConfiguration()
        configuration.waitsForConnectivity = true
        let log = DelegateLog()
        let session = Session(configuration: configuration, delegate: log)
        session.dataTask(with: try URLRecord(origin.url())).resume()
        try await log.happened("waiting")
        try origin.open()
        try await log.happened("complete")
        #expect(log.events.filter { $0 == "waiting" }.count == 1)
        #expect(log.events.last == "complete well")
    }

    // Proves: BEY-3, FN-22.
    @Test func `a delayed task asks at its moment, and may load something else then`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        var answers = DelegateLog.Answers()
        let other = Request(url: try URLRecord(origin.url("/other")))
        answers.delayed = { _ in .useNewRequest(other) }
        let log = DelegateLog(answers)
        let session = Session(delegate: log)
        let begin = ContinuousClock.now.advanced(by: .milliseconds(50))
        session.dataTask(with: Request(url: try URLRecord(origin.url("/one"))), earliestBegin: begin).resume()
        try await log.happened("delayed")
        #expect(ContinuousClock.now >= begin)
        try await log.happened("complete well")
        #expect(origin.received().hasPrefix("GET /other "))
    }

    // Also while it waits; the answer of a delegate goes before it.
    // Proves: DLG-8, BEY-3.
    @Test func `what a delayed task does can be decided beforehand`() async throws {
        let origin = try WireOrigin(playing: Self.ok)
        let begin = ContinuousClock.now.advanced(by: .milliseconds(50))
        let one = Request(url: try URLRecord(origin.url("/one")))
        let other = Request(url: try URLRecord(origin.url("/other")))
        for delegate in [nil, DelegateLog()] {
            let session = Session(delegate: delegate)
            let cancelled = session.dataTask(with: one, earliestBegin: begin)
            cancelled.delayedRequestDisposition = .cancel
            await expect(.cancelled) { try await cancelled.data() }
            let replaced = session.dataTask(with: one, earliestBegin: begin)
            replaced.delayedRequestDisposition = .useNewRequest(other)
            #expect(try await replaced.data().1.url == other.url)
        }
        var answers = DelegateLog.Answers()
        answers.delayed = { _ in .useNewRequest(other) }
        let task = Session(delegate: DelegateLog(answers)).dataTask(with: one, earliestBegin: begin)
        task.delayedRequestDisposition = .cancel
        #expect(try await task.data().1.url == other.url)
        #expect(!origin.connections.indices.contains { origin.received(on: $0).contains("/one") })
    }

    // Proves: BEY-3.
    @Test func `a delayed task goes on as it is, or is cancelled and sends nothing`() async throws {
        let begin = ContinuousClock.now.advanced(by: .milliseconds(50))
        for (answer, end) in [(DelayedRequestDisposition.continueLoading, "well"), (.cancel, "cancelled")] {
            let origin = try WireOrigin(playing: Self.ok)
            var answers = DelegateLog.Answers()
            answers.delayed = { request in
                #expect(request.url.path == "/one" && ContinuousClock.now >= begin)
                return answer
            }
            let log = DelegateLog(answers)
            let session = Session(delegate: log)
            session.dataTask(with: Request(url: try URLRecord(origin.url("/one"))), earliestBegin: begin).resume()
            try await log.happened("complete")
            #expect(log.events.prefix(2) == ["created", "delayed"] && log.events.last == "complete \(end)")
            #expect(origin.count(of: "GET /one ") == (end == "well" ? 1 : 0))
            #expect(origin.connections.count == (end == "well" ? 1 : 0))
        }
    }

    // Proves: CON-1.
    @Test func `awaited, with a handler or with a delegate, a load has the same bytes and response`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                guard !head.hasPrefix("GET /first ") else {
                    try connection.send("HTTP/1.1 302 Found\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n")
                    continue
                }
                try connection.send(
                    "HTTP/1.1 203 As Heard\r\nX-Tag: 1\r\nContent-Type: text/plain; charset=latin1\r\nX-Tag: 2\r\n"
                        + "Content-Length: 200000\r\n\r\n")
                try connection.send(pattern(200_000))
            }
        }
        let request = Request(url: try URLRecord(origin.url("/first")))
        let awaited = try await Session().data(for: request)
        let handled = try await withCheckedThrowingContinuation { continuation in
            Session().dataTask(with: request) { continuation.resume(with: $0) }.resume()
        }
        let log = CollectingDelegate()
        Session(delegate: log).dataTask(with: request).resume()
        try await until { log.isOver }
        #expect(log.error == nil)
        let told = (log.body, try #require(log.response))
        for (body, response) in [awaited, handled, told] {
            #expect(body == pattern(200_000))
            #expect(response.url.description == origin.url("/second"))
            #expect(response.status.code == 203 && response.status.reasonPhrase == "As Heard")
            #expect(response.headerFields == awaited.1.headerFields && response.headerFields.count == 4)
            #expect(response.mimeType == "text/plain" && response.textEncodingName == "latin1")
            #expect(response.expectedContentLength == 200_000 && response.httpVersion == "http/1.1")
            #expect(response.suggestedFilename == awaited.1.suggestedFilename && response.source == .network)
        }
    }

    // Proves: BEY-6, BEY-7, TSK-9, FN-32, TSK-4, CON-12, DLD-6, UPL-9.
    @Test func `progress counts what is sent and received`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.receive(1000)
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + String(repeating: "x", count: 3000))
        }
        let request = Request(url: try URLRecord(origin.url()), method: .put)
        let task = Session().uploadTask(with: request, from: .bytes([UInt8](repeating: 1, count: 1000)))
        #expect(task.countOfBytesExpectedToSend == 1000 && task.progress.fractionCompleted == nil)
        _ = try await task.data()
        #expect(task.countOfBytesSent == 1000 && task.countOfBytesReceived == 3000)
        #expect(task.progress.completedUnitCount == 4000 && task.progress.fractionCompleted == 1)
    }

    // Proves: BEY-9, BEY-28.
    @Test func `a body is read line by line, whatever its chunks`() async throws {
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for piece in ["o", "ne\r\ntw", "o\n\n", "last"] {
                try connection.send("\(piece.utf8.count)\r\n\(piece)\r\n")
            }
            try connection.send("0\r\n\r\n")
        }
        let (body, _) = try await Session().bytes(for: Request(url: try URLRecord(origin.url())))
        var lines: [String] = []
        for try await line in body.lines { lines.append(line) }
        #expect(lines == ["one", "two", "", "last"])
    }
}

extension String {
    /// How often a text occurs.
    fileprivate func components(of text: String) -> Int { ranges(of: text).count }
}
