import FetchJobs
import Hummingbird
import Synchronization
import TestSupport
import Testing

@testable import FetchAPI

/// Who waits for whom when many pages are asked for.
@Suite(.timeLimit(.minutes(1))) struct PageDrawingTests {
    @Test func `pages are drawn one after the other, those of tenants in turn`() async throws {
        let (drawing, gate) = (PageDrawing(), Gate())
        let order = Mutex<[Int64]>([])
        let isDrawing = Atomic(false)
        let draw: @Sendable (Int64) async -> Void = { tenant in
            _ = await drawing.draw(for: Tenant.ID(rawValue: tenant)) {
                #expect(isDrawing.exchange(true, ordering: .relaxed) == false)
                try? gate.wait()
                order.withLock { $0.append(tenant) }
                isDrawing.store(false, ordering: .relaxed)
                return Response(status: .ok)
            }
        }
        try await withThrowingTaskGroup { group in
            group.addTask { await draw(0) }
            try await until { isDrawing.load(ordering: .relaxed) }
            // One after the other, so that they wait in this order.
            for (number, tenant) in [1, 1, 1, 1, 2, 2, 3].enumerated() {
                group.addTask { await draw(Int64(tenant)) }
                try await until { drawing.waiting == number + 1 }
            }
            gate.open()
            try await group.waitForAll()
        }
        #expect(order.withLock { $0 } == [0, 1, 2, 3, 1, 2, 1, 1])
        #expect(drawing.waiting == 0)
        // Nobody draws any more, so the next one begins at once.
        await draw(4)
        #expect(order.withLock { $0.last } == 4)
    }
}
