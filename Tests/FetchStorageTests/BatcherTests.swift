import Synchronization
import TestSupport
import Testing

@testable import FetchStorage

@Suite struct BatcherTests {
    private struct Failure: Error {}

    @Test func `a caller alone runs at once, with what it brought`() async throws {
        let batcher = Batcher<Int, Int>(maximumItems: 10) { items in items.map { $0 * 2 } }
        #expect(try await batcher.submit([1, 2]) == [2, 4])
        #expect(try await batcher.submit([3]) == [6])
    }

    @Test func `what arrives while a statement is under way shares the next one`() async throws {
        let sizes = Mutex<[Int]>([])
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let batcher = Batcher<Int, Int>(maximumItems: 100) { items in
            let isFirst = sizes.withLock { sizes in
                sizes.append(items.count)
                return sizes.count == 1
            }
            if isFirst { for await _ in gate { break } }
            return items
        }
        try await withThrowingTaskGroup(of: [Int].self) { group in
            group.addTask { try await batcher.submit([0]) }
            try await until { sizes.withLock { !$0.isEmpty } }
            for number in 1...20 { group.addTask { try await batcher.submit([number]) } }
            try await until { batcher.waitingCount >= 20 }
            open.yield()
            var outcomes: [Int] = []
            for try await outcome in group { outcomes += outcome }
            #expect(outcomes.sorted() == Array(0...20))
        }
        #expect(sizes.withLock { $0 } == [1, 20])
    }

    @Test func `what arrives soon after a statement shares the next one, though none is under way`() async throws {
        let sizes = Mutex<[Int]>([])
        let batcher = Batcher<Int, Int>(maximumItems: 100, interval: .seconds(1)) { items in
            sizes.withLock { $0.append(items.count) }
            return items
        }
        #expect(try await batcher.submit([0]) == [0])
        let outcomes = try await withThrowingTaskGroup(of: [Int].self) { group in
            for number in 1...20 { group.addTask { try await batcher.submit([number]) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(outcomes.sorted() == Array(1...20))
        #expect(sizes.withLock { $0 } == [1, 20])
    }

    @Test func `a statement that follows one of few items begins at once, whatever the interval`() async throws {
        let sizes = Mutex<[Int]>([])
        let batcher = Batcher<Int, Int>(maximumItems: 100, interval: .seconds(3600), many: 3) { items in
            sizes.withLock { $0.append(items.count) }
            return items
        }
        for number in 1...3 { #expect(try await batcher.submit([number]) == [number]) }
        #expect(try await batcher.submit([4, 5]) == [4, 5])
        #expect(try await batcher.submit([6, 7, 8]) == [6, 7, 8])
        #expect(sizes.withLock { $0 } == [1, 1, 1, 2, 3])
    }

    @Test func `what arrives soon after a statement of many items shares the next one`() async throws {
        let sizes = Mutex<[Int]>([])
        let batcher = Batcher<Int, Int>(maximumItems: 100, interval: .seconds(1), many: 3) { items in
            sizes.withLock { $0.append(items.count) }
            return items
        }
        #expect(try await batcher.submit([1, 2, 3]) == [1, 2, 3])
        let outcomes = try await withThrowingTaskGroup(of: [Int].self) { group in
            for number in 1...20 { group.addTask { try await batcher.submit([number]) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(outcomes.sorted() == Array(1...20))
        #expect(sizes.withLock { $0 } == [3, 20])
    }

    @Test func `a failed statement fails all it carried, and the next one runs`() async throws {
        let batcher = Batcher<Int, Int>(maximumItems: 10) { items in
            guard !items.contains(13) else { throw Failure() }
            return items
        }
        await #expect(throws: Failure.self) { try await batcher.submit([13]) }
        #expect(try await batcher.submit([1]) == [1])
    }

    @Test func `ten thousand callers each get their own outcome`() async throws {
        let batcher = Batcher<Int, Int>(maximumItems: 500, maximumLeaders: 2) { items in
            await Task.yield()
            return items.map { -$0 }
        }
        let wrong = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<10_000 { group.addTask { try await batcher.submit([number]) != [-number] } }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(wrong == 0)
    }
}
