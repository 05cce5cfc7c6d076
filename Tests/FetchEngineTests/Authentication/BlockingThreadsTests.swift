import Foundation
import Synchronization
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

    @Test func `a full line takes nobody`() async {
        let threads = BlockingThreads(maximum: 1, maximumPerGroup: 1, maximumWaiting: 0)
        #expect(await threads.run(in: "any", patience: .seconds(30)) { true } == nil)
    }
}
