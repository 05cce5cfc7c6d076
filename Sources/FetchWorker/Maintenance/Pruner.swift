package import FetchJobs
package import FetchRuntime
package import Logging
import ServiceLifecycle

/// Removes expired rows and blobs, and the remains of crashes: bytes without a row, downloads without a job, and
/// abandoned uploads.
package struct Pruner: Service {
    /// Bytes without a row are kept for this time, because their row may still be written.
    static let grace = Duration.seconds(24 * 3600)
    /// Uploads and blobs that are not complete after this time are removed.
    static let lifeOfUploads = Duration.seconds(7 * 86_400)
    static let interval = Duration.seconds(600)
    /// Every so many rounds the whole store is looked through, beginning with the first.
    static let roundsPerInventory = 144

    private let expiredRows: any ExpiredRowStore
    private let retention: Retention
    private let blobs: any BlobStore
    private let catalog: any BlobCatalog
    private let area: any DownloadArea
    private let uploads: any UploadArea
    private let removesExpired: Bool
    private let failures: UpkeepMetrics
    private let logger: Logger
    private let clock: NodeClock

    /// - Parameters:
    ///   - retention: How long rows are kept.
    ///   - blobs: Of a node that removes nothing expired those on its own disk alone: nobody else removes what is left
    ///     over there.
    ///   - removesExpired: Whether it removes what has expired, which nodes with the scheduler's role do for all.
    package init(
        expiredRows: any ExpiredRowStore,
        retention: Retention,
        blobs: any BlobStore,
        catalog: any BlobCatalog,
        area: any DownloadArea,
        uploads: any UploadArea,
        removesExpired: Bool = true,
        metrics: MetricsRegistry,
        logger: Logger,
        clock: NodeClock = .continuous
    ) {
        self.expiredRows = expiredRows
        self.retention = retention
        self.blobs = blobs
        self.catalog = catalog
        self.area = area
        self.uploads = uploads
        self.removesExpired = removesExpired
        failures = UpkeepMetrics(metrics)
        self.logger = logger
        self.clock = clock
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            var round = 0
            while !Task.isCancelled {
                await tidy(all: round.isMultiple(of: Self.roundsPerInventory))
                round += 1
                try? await clock.sleep(for: Self.interval)
            }
        }
    }

    /// - Parameter isInventory: The whole store is looked through.
    private func tidy(all isInventory: Bool) async {
        let begun = clock.date.advanced(by: .zero - Self.lifeOfUploads)
        if removesExpired {
            await removeExpiredRows()
            await prune("blobs") { () async throws(StoreError) in try await removeExpired() }
        }
        await prune("downloads") { () async throws(StoreError) in try await removeAbandonedDownloads() }
        await prune("uploads") { () async throws(StoreError) in try await uploads.remove(begunBefore: begun) }
        guard isInventory else { return }
        await prune("unfinished") { () async throws(StoreError) in
            try await blobs.removeUnfinished(begunBefore: begun)
        }
        await prune("orphans") { () async throws(StoreError) in
            try await removeOrphans(createdBefore: clock.date.advanced(by: .zero - Self.grace))
        }
    }

    /// Each alone: a failed step is tried again with the next round, and keeps nothing else from being done.
    private func prune(_ what: String, _ body: () async throws(StoreError) -> Void) async {
        guard !Task.isCancelled else { return }
        do throws(StoreError) {
            try await body()
        } catch {
            // What the end of the node interrupts has not failed.
            guard !Task.isCancelled else { return }
            failures.count(.pruning)
            logger.warning("tidying failed", metadata: ["pruning.step": "\(what)", "error": "\(error)"])
        }
    }

    /// In small steps, so that no statement holds many rows for long.
    package func removeExpiredRows() async {
        for expiredRow in ExpiredRow.allCases {
            await prune(expiredRow.rawValue) { () async throws(StoreError) in
                while !Task.isCancelled, try await expiredRows.remove(expiredRow, keeping: retention) > 0 {}
            }
        }
    }

    package func removeExpired() async throws(StoreError) {
        var ids: [Blob.ID]
        repeat {
            ids = try await catalog.removeExpired()
            for id in ids { try await blobs.delete(id) }
        } while !ids.isEmpty && !Task.isCancelled
    }

    /// Downloads whose job has ended elsewhere.
    func removeAbandonedDownloads() async throws(StoreError) {
        for job in try await catalog.ended(among: try await area.jobs()) { try await area.remove(job) }
    }

    package func removeOrphans(createdBefore time: Timestamp) async throws(StoreError) {
        let limit = UUIDv7(earliestAt: time)
        try await blobs.forEach { ids throws(StoreError) in
            for id in try await catalog.orphans(among: ids.filter { $0.uuid < limit }) {
                try await blobs.delete(id)
                logger.notice("blob without a row removed", metadata: ["blob.id": "\(id)"])
            }
        }
    }
}
