import FetchJobs
import FetchRuntime
import FetchStorage
import Logging
import Synchronization
import TestSupport
import Testing

@testable import FetchWorker

/// The rows that each round removes, by a clock that the test moves.
@Suite struct PrunerTests {
    /// So many rows of each kind, of which a statement removes a thousand.
    private final class Rows: ExpiredRowStore {
        private struct State {
            var left: [ExpiredRow: Int]
            var failing: Set<ExpiredRow> = []
            var steps: [ExpiredRow: [Int]] = [:]
        }

        private let state: Mutex<State>

        init(_ left: [ExpiredRow: Int], failing: Set<ExpiredRow> = []) {
            state = Mutex(State(left: left, failing: failing))
        }

        func remove(_ expiredRow: ExpiredRow, keeping retention: Retention) async throws(StoreError) -> Int {
            let count: Int? = state.withLock { state in
                if state.failing.contains(expiredRow) { return nil }
                let count = min(1000, state.left[expiredRow, default: 0])
                state.left[expiredRow, default: 0] -= count
                state.steps[expiredRow, default: []].append(count)
                return count
            }
            guard let count else { throw StoreError(.failed, "The rows are locked.") }
            return count
        }

        /// The number of rows that each statement removed.
        func steps(_ expiredRow: ExpiredRow) -> [Int] { state.withLock { $0.steps[expiredRow, default: []] } }

        func mend() { state.withLock { $0.failing = [] } }
    }

    private let clock = ManualClock()
    private let blobs = MemoryBlobStore()
    private let metrics = MetricsRegistry()

    private func with(
        _ rows: Rows, uploads: MemoryUploadArea = MemoryUploadArea(), removesExpired: Bool = true,
        _ body: () async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        let pruner = Pruner(
            expiredRows: rows, retention: Retention(), blobs: blobs,
            catalog: MemoryBlobCatalog(jobs: MemoryJobStore()),
            area: try await FileDownloadArea(directory: directory.path), uploads: uploads,
            removesExpired: removesExpired, metrics: metrics, logger: .silent, clock: clock.clock)
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await pruner.run() }
            await clock.untilAsleep(for: Pruner.interval)
            try await body()
            tasks.cancelAll()
        }
    }

    private func nextRound() async {
        clock.advance(by: Pruner.interval)
        await clock.untilAsleep(for: Pruner.interval)
    }

    @Test func `rows are removed in small steps until none is left, every ten minutes`() async throws {
        let rows = Rows([.cookies: 2500, .counts: 1000])
        try await with(rows) {
            #expect(rows.steps(.cookies) == [1000, 1000, 500, 0])
            #expect(rows.steps(.counts) == [1000, 0])
            clock.advance(by: Pruner.interval - .seconds(1))
            #expect(rows.steps(.counts) == [1000, 0])
            clock.advance(by: .seconds(1))
            await clock.untilAsleep(for: Pruner.interval)
            #expect(rows.steps(.counts) == [1000, 0, 0])
        }
    }

    @Test func `a node that leaves rows to others removes the uploads on its own disk`() async throws {
        let (rows, uploads) = (Rows([.cookies: 10]), MemoryUploadArea())
        let upload = Upload(
            id: Upload.ID(in: uploads.volume), tenant: .first, contentType: nil, expiresAt: nil, length: nil)
        try await uploads.create(upload)
        clock.advance(by: Pruner.lifeOfUploads + .seconds(3600))
        try await with(rows, uploads: uploads, removesExpired: false) { () async throws in
            #expect(rows.steps(.cookies) == [])
            #expect(try await uploads.upload(upload.id, of: .first) == nil)
        }
    }

    /// The first removal lasts until its task is cancelled, which it fails for.
    private final class EndlessRows: ExpiredRowStore {
        let count = Progress()

        func remove(_ expiredRow: ExpiredRow, keeping retention: Retention) async throws(StoreError) -> Int {
            count.add(1)
            do { try await Task.sleep(for: .seconds(3600)) } catch { throw StoreError(.failed, "\(error)") }
            return 0
        }
    }

    @Test func `a step that the end of the node interrupts has not failed, and none comes after it`() async throws {
        let directory = try TemporaryDirectory()
        let rows = EndlessRows()
        let pruner = Pruner(
            expiredRows: rows, retention: Retention(), blobs: blobs,
            catalog: MemoryBlobCatalog(jobs: MemoryJobStore()),
            area: try await FileDownloadArea(directory: directory.path), uploads: MemoryUploadArea(),
            metrics: metrics, logger: .silent, clock: clock.clock)
        let run = Task { try await pruner.run() }
        try await until { rows.count.value == 1 }
        run.cancel()
        try await run.value
        #expect(rows.count.value == 1)
        #expect(!metrics.text.contains("\nfetchd_upkeep_failures_total{step=\"pruning\"} 1\n"))
    }

    @Test func `what fails keeps nothing else from being removed, and is tried again with the next round`() async throws
    {
        let rows = Rows([.idempotencyKeys: 10, .flowBlocks: 10], failing: [.idempotencyKeys])
        try await with(rows) {
            #expect(rows.steps(.idempotencyKeys) == [] && rows.steps(.flowBlocks) == [10, 0])
            #expect(metrics.text.contains("\nfetchd_upkeep_failures_total{step=\"pruning\"} 1\n"))
            rows.mend()
            await nextRound()
            #expect(rows.steps(.idempotencyKeys) == [10, 0])
            #expect(metrics.text.contains("\nfetchd_upkeep_failures_total{step=\"pruning\"} 1\n"))
        }
    }

    @Test func `a blob without a row goes with a look through the whole store, once it is a day old`() async throws {
        // So that the blob is older than the clock that looks at it.
        clock.advance(by: .seconds(1))
        let writer = try await blobs.create()
        try await writer.write([1])
        try await writer.finish()
        try await with(Rows([:])) {
            for _ in 1..<Pruner.roundsPerInventory { await nextRound() }
            #expect(blobs.count == 1)
            await nextRound()
            #expect(blobs.count == 0)
        }
    }
}
