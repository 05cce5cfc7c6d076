import FetchEngine
import HTTPTypes
import TestSupport
import Testing

/// How far tasks are, alone and together.
@Suite(.timeLimit(.minutes(1))) struct ProgressTests {
    /// An origin that sends half of a body, and the rest when its gate is open.
    private static func origin(_ count: Int, _ gate: Gate, announces: Bool = true) throws -> WireOrigin {
        try WireOrigin { connection in
            guard let head = try connection.receiveHead() else { return }
            if head.contains("chunked") { try connection.receiveChunked() }
            let length = announces ? "Content-Length: \(count)" : "Connection: close"
            try connection.send("HTTP/1.1 200 OK\r\n\(length)\r\n\r\n")
            try connection.send(Array(pattern(count)[..<(count / 2)]))
            try gate.wait()
            try connection.send(Array(pattern(count)[(count / 2)...]))
        }
    }

    private static func task(_ session: Session, _ origin: WireOrigin) throws -> DataTask {
        session.dataTask(with: try URLRecord(origin.url()))
    }

    // Proves: BEY-6.
    @Test func `what the program expects counts while lengths are unknown`() async throws {
        let gate = Gate()
        let origin = try Self.origin(6_000, gate, announces: false)
        let body = RequestBody.stream(length: nil, OneStream(bytes: pattern(2_000)))
        let request = Request(url: try URLRecord(origin.url()), method: .put)
        let session = Session(delegate: DelegateLog())
        let task = session.uploadTask(with: request, from: body)
        #expect(task.countOfBytesClientExpectsToSend == nil && task.countOfBytesClientExpectsToReceive == nil)
        #expect(task.countOfBytesExpectedToSend == nil && task.progress.totalUnitCount == nil)
        task.countOfBytesClientExpectsToSend = 2_000
        task.countOfBytesClientExpectsToReceive = 6_000
        #expect(task.countOfBytesClientExpectsToSend == 2_000 && task.countOfBytesClientExpectsToReceive == 6_000)
        #expect(task.progress.totalUnitCount == 8_000 && task.progress.fractionCompleted == 0)
        task.resume()
        try await until { task.countOfBytesReceived == 3_000 }
        #expect(task.countOfBytesSent == 2_000 && task.countOfBytesExpectedToReceive == nil)
        #expect(task.progress.completedUnitCount == 5_000 && task.progress.fractionCompleted == 5.0 / 8)
        gate.open()
        try await until { task.state == .completed }
        #expect(task.error == nil && task.progress.fractionCompleted == 1)
    }

    // Proves: BEY-6.
    @Test func `lengths that are known count before what the program expects`() async throws {
        let gate = Gate()
        let origin = try Self.origin(6_000, gate)
        let task = try Self.task(Session(delegate: DelegateLog()), origin)
        (task.countOfBytesClientExpectsToSend, task.countOfBytesClientExpectsToReceive) = (50, 1_000)
        #expect(task.progress.totalUnitCount == 1_000)
        task.resume()
        try await until { task.countOfBytesReceived == 3_000 && task.response != nil }
        #expect(task.countOfBytesExpectedToSend == 0 && task.countOfBytesExpectedToReceive == 6_000)
        #expect(task.progress.totalUnitCount == 6_000 && task.progress.fractionCompleted == 0.5)
        gate.open()
        try await until { task.state == .completed }
    }

    // Proves: BEY-7.
    @Test func `a parent has the parts of its children, their throughput and the time that remains`() async throws {
        let (gates, session) = ((0..<2).map { _ in Gate() }, Session(delegate: DelegateLog()))
        let origins = try gates.map { try Self.origin(4_000, $0) }
        let tasks = try origins.map { try Self.task(session, $0) }
        let (progress, inner) = (ParentProgress(totalUnitCount: 4), ParentProgress(totalUnitCount: 1))
        progress.addChild(tasks[0], withPendingUnitCount: 1)
        progress.addChild(inner, withPendingUnitCount: 3)
        inner.addChild(tasks[1], withPendingUnitCount: 1)
        #expect(progress.fractionCompleted == 0 && progress.throughput == 0 && !progress.isFinished)
        #expect(progress.estimatedTimeRemaining == nil)
        for task in tasks { task.resume() }
        try await until { tasks.allSatisfy { $0.progress.fractionCompleted == 0.5 } }
        #expect(progress.fractionCompleted == 0.5 && inner.fractionCompleted == 0.5)
        #expect(progress.completedUnitCount == 0)
        #expect(tasks.allSatisfy { $0.progress.throughput > 0 && $0.progress.estimatedTimeRemaining ?? .zero > .zero })
        // The later one of two looks is at a lower throughput, for not a byte comes.
        let (before, together, after) = (tasks.rates, progress.throughput, tasks.rates)
        #expect((after...before).contains(together))
        #expect(progress.estimatedTimeRemaining ?? .zero > .zero)
        gates[1].open()
        try await until { inner.isFinished }
        #expect(inner.fractionCompleted == 1 && progress.completedUnitCount == 3)
        #expect(progress.fractionCompleted == 3.5 / 4 && !progress.isFinished)
        gates[0].open()
        try await until { progress.isFinished }
        #expect(progress.completedUnitCount == 4 && progress.fractionCompleted == 1 && progress.throughput == 0)
    }

    // Proves: BEY-7.
    @Test func `a parent pauses, resumes and cancels all that is below it`() async throws {
        let (gate, session) = (Gate(), Session(delegate: DelegateLog()))
        let origin = try Self.origin(4_000, gate)
        let tasks = try (0..<3).map { _ in try Self.task(session, origin) }
        let (progress, inner) = (ParentProgress(totalUnitCount: 3), ParentProgress(totalUnitCount: 1))
        progress.addChild(tasks[0], withPendingUnitCount: 1)
        progress.addChild(inner, withPendingUnitCount: 1)
        inner.addChild(tasks[1], withPendingUnitCount: 1)
        for task in tasks { task.resume() }
        try await until { tasks.allSatisfy { $0.state == .running } }
        progress.pause()
        progress.pause()
        #expect(progress.isPaused && inner.isPaused && tasks.map(\.state) == [.suspended, .suspended, .running])
        progress.addChild(tasks[2], withPendingUnitCount: 1)
        #expect(tasks[2].state == .suspended)
        progress.resume()
        #expect(!progress.isPaused && !inner.isPaused && tasks.allSatisfy { $0.state == .running })
        progress.cancel()
        #expect(progress.isCancelled && inner.isCancelled)
        try await until { tasks.allSatisfy { $0.state == .completed } }
        #expect(tasks.allSatisfy { $0.error?.code == .cancelled } && !progress.isFinished)
        let late = try Self.task(session, origin)
        progress.addChild(late, withPendingUnitCount: 1)
        try await until { late.state == .completed }
        #expect(late.error?.code == .cancelled)
    }
}

extension [DataTask] {
    /// The bytes that they move in a second, together.
    fileprivate var rates: Double { reduce(0) { $0 + $1.progress.throughput } }
}
