import Foundation
import Synchronization
import TestSupport
import Testing

@testable import FetchEngine

@Suite(.timeLimit(.minutes(1))) struct BlockingThreadsTests {
    /// Blocks whoever comes until it is opened.
    private final class Door: Sendable {
        private let condition = NSCondition()
        private let counts = Mutex((open: false, inside: 0, most: 0, entered: 0))

        func wait() {
            condition.lock()
            defer { condition.unlock() }
            counts.withLock {
                $0.inside += 1
                $0.entered += 1
                $0.most = max($0.most, $0.inside)
            }
            while !counts.withLock({ $0.open }) { condition.wait() }
            counts.withLock { $0.inside -= 1 }
        }

        func open() {
            condition.lock()
            counts.withLock { $0.open = true }
            condition.broadcast()
            condition.unlock()
        }

        var mostInside: Int { counts.withLock { $0.most } }
        var entered: Int { counts.withLock { $0.entered } }
    }

    @Test func `a group that hangs leaves threads to the others`() async throws {
        let threads = BlockingThreads(maximum: 4, maximumPerGroup: 2)
        let door = Door()
        await withTaskGroup(of: Bool?.self) { tasks in
            for _ in 0..<20 {
                tasks.addTask {
                    await threads.run(in: "hangs", patience: .seconds(30)) {
                        door.wait()
                        return true
                    }
                }
            }
            for number in 0..<20 {
                #expect(await threads.run(in: "answers", patience: .seconds(30)) { number } == number)
            }
            door.open()
            for await value in tasks { #expect(value == true) }
        }
        #expect(door.mostInside <= 2)
    }

    @Test func `nobody waits longer than is said, and what nobody waits for is not begun`() async {
        let threads = BlockingThreads(maximum: 1, maximumPerGroup: 1)
        let door = Door()
        await withTaskGroup(of: Void.self) { tasks in
            for _ in 0..<10 {
                tasks.addTask {
                    let value: Void? = await threads.run(in: "hangs", patience: .milliseconds(50)) {
                        door.wait()
                    }
                    #expect(value == nil)
                }
            }
        }
        door.open()
        #expect(await threads.run(in: "hangs", patience: .seconds(30)) { true } == true)
        #expect(door.entered == 1)
    }

    // Proves: SEC-45.
    @Test func `the next thread is for who has the fewest, however many calls of another have waited for longer`()
        async throws
    {
        let threads = BlockingThreads(maximum: 8, maximumPerGroup: 4)
        let (first, others) = (Door(), Door())
        @Sendable func call(_ group: String, _ door: Door? = nil) async -> Bool? {
            await threads.run(in: group, patience: .seconds(30)) {
                door?.wait()
                return true
            }
        }
        try await withThrowingTaskGroup(of: Bool?.self) { tasks in
            tasks.addTask { await call("hangs", first) }
            for group in ["hangs", "hangs", "answers"] { tasks.addTask { await call(group, others) } }
            try await until { first.entered == 1 && others.entered == 3 }
            for _ in 0..<5 { tasks.addTask { await call("hangs", others) } }
            try await until { threads.waiting == 5 }
            async let answer = call("answers")
            try await until { threads.waiting == 6 }
            first.open()
            #expect(await answer == true)
            others.open()
            for try await value in tasks { #expect(value == true) }
        }
    }

    // As many as could have all threads if each had as many as it may have.
    // Proves: SEC-45.
    @Test func `beside eight groups that hang, one that has no thread gets one at once`() async throws {
        let threads = BlockingThreads(maximum: 16, maximumPerGroup: 2)
        let door = Door()
        try await withThrowingTaskGroup(of: Bool?.self) { tasks in
            for number in 0..<24 {
                tasks.addTask {
                    await threads.run(in: "hangs \(number % 8)", patience: .seconds(30)) {
                        door.wait()
                        return true
                    }
                }
            }
            try await until { door.entered + threads.waiting == 24 }
            for number in 0..<4 {
                #expect(await threads.run(in: "answers \(number)", patience: .seconds(10)) { number } == number)
            }
            #expect(door.entered >= 8)
            door.open()
            for try await value in tasks { #expect(value == true) }
        }
        #expect(door.mostInside <= 12)
    }

    @Test func `the wait for a thread costs no patience while its turn may come`() async throws {
        let threads = BlockingThreads(maximum: 1, maximumPerGroup: 1)
        let door = Door()
        async let held: Void? = threads.run(in: "hangs", patience: .seconds(30)) { door.wait() }
        try await until { door.entered == 1 }
        async let patient = threads.run(in: "other", patience: .seconds(1), turn: .seconds(30)) { true }
        try await until { threads.waiting == 1 }
        // Of the same patience, and later.
        #expect(await threads.run(in: "other", patience: .seconds(1)) { true } == nil)
        door.open()
        #expect(await patient == true)
        #expect(await held != nil)
    }

    @Test func `a full line takes nobody`() async {
        let threads = BlockingThreads(maximum: 1, maximumPerGroup: 1, maximumWaiting: 0)
        #expect(await threads.run(in: "any", patience: .seconds(30)) { true } == nil)
    }

    @Test func `the full line of one group takes nothing from another`() async throws {
        let threads = BlockingThreads(maximum: 1, maximumPerGroup: 1, maximumWaiting: 1)
        let door = Door()
        async let held: Void? = threads.run(in: "hangs", patience: .seconds(30)) { door.wait() }
        try await until { door.entered == 1 }
        async let waiting = threads.run(in: "hangs", patience: .seconds(30)) { true }
        try await until { threads.waiting == 1 }
        #expect(await threads.run(in: "hangs", patience: .seconds(30)) { true } == nil)
        async let other = threads.run(in: "other", patience: .seconds(30)) { true }
        try await until { threads.waiting == 2 }
        door.open()
        #expect(await other == true)
        #expect(await waiting == true)
        #expect(await held != nil)
    }
}
