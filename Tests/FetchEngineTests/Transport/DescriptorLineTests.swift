import EventLoop
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import FetchEngine

/// Transfers when descriptors are scarce.
@Suite(.timeLimit(.minutes(1))) struct DescriptorLineTests {
    private static func load(_ url: String, by session: Session) async throws -> Int {
        try await session.data(for: Request(url: try URLRecord(url))).1.status.code
    }

    /// The code of a task's error; nil when it does not fail.
    private static func code(of task: DataTask) async -> LoadError.Code? {
        do throws(LoadError) {
            _ = try await task.response(bufferingUpTo: 10)
            return nil
        } catch {
            return error.code
        }
    }

    // Proves: REL-11.
    @Test func `loads of more sessions than there are descriptors wait, and all of them succeed`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let shortages = Progress()
        let budget = DescriptorBudget(limit: 24) { shortages.add(1) }
        let loop = TransferLoop(TaskLoop(name: "few"), descriptors: budget)
        let sessions = (0..<60).map { _ in Session(transferLoop: loop) }
        try await withThrowingTaskGroup { group in
            for session in sessions { group.addTask { try await Self.load(origin.url(), by: session) } }
            for try await status in group { #expect(status == 200) }
        }
        #expect(origin.connections.count == 60 && budget.waiting == 0)
        // Reserved descriptors are given back; those in use are idle connections.
        #expect(budget.used <= budget.limit && budget.shortageCount > 0 && shortages.value == 1)
        #expect(budget.connections <= budget.used)
    }

    @Test func `open connections are counted, idle ones too`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let field = head.contains("/last") ? "Connection: close\r\n" : ""
                try connection.send("HTTP/1.1 200 OK\r\n\(field)Content-Length: 2\r\n\r\nok")
            }
        }
        let budget = DescriptorBudget(limit: 24)
        let session = Session(transferLoop: TransferLoop(TaskLoop(name: "counted"), descriptors: budget))
        _ = try await Self.load(origin.url("/first"), by: session)
        #expect(budget.connections == 1)
        _ = try await Self.load(origin.url("/last"), by: session)
        #expect(origin.connections.count == 1)
        try await until { budget.connections == 0 }
    }

    @Test func `a load that waits for a descriptor can be cancelled`() async throws {
        let (gate, isAsked) = (Gate(), Progress())
        let origin = try WireOrigin { connection in
            try connection.receiveHead()
            isAsked.add(1)
            try gate.wait()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        let budget = DescriptorBudget(limit: 8)
        let loop = TransferLoop(TaskLoop(name: "few"), descriptors: budget)
        let (first, second) = (Session(transferLoop: loop), Session(transferLoop: loop))
        async let answer = Self.load(origin.url(), by: first)
        try await until { isAsked.value == 1 }
        let task = second.dataTask(with: Request(url: try URLRecord(origin.url())))
        async let end = Self.code(of: task)
        try await until { budget.waiting == 1 }
        task.cancel()
        let code = await end
        #expect(code == .cancelled)
        gate.open()
        let status = try await answer
        #expect(status == 200)
        try await until { budget.waiting == 0 }
    }

    @Test func `owners take turns, however many loads one of them has waiting`() async throws {
        let gate = Gate()
        let paths = Mutex<[String]>([])
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                paths.withLock { $0.append(String(head.split(separator: " ")[1])) }
                try gate.wait()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            }
        }
        // For one at a time.
        let budget = DescriptorBudget(limit: 8)
        let loop = TransferLoop(TaskLoop(name: "few"), descriptors: budget)
        func session(of owner: String) -> Session {
            var configuration = SessionConfiguration.ephemeral
            configuration.owner = owner
            return Session(configuration: configuration, transferLoop: loop)
        }
        try await withThrowingTaskGroup { group in
            group.addTask { try await Self.load(origin.url("/first"), by: session(of: "many")) }
            try await until { paths.withLock { $0 } == ["/first"] }
            for count in 1...5 {
                group.addTask { try await Self.load(origin.url("/many"), by: session(of: "many")) }
                try await until { budget.waiting == count }
            }
            group.addTask { try await Self.load(origin.url("/one"), by: session(of: "one")) }
            try await until { budget.waiting == 6 }
            gate.open()
            for try await status in group { #expect(status == 200) }
        }
        #expect(paths.withLock { $0.prefix(3) } == ["/first", "/many", "/one"])
    }
}
