package import FetchJobs
package import Logging
import ServiceLifecycle

/// Removes what has outlived its use: rows that nobody asks for any more, blobs that have expired, and what a crash left
/// behind: bytes without a row, downloads without a job, and uploads that nobody goes on with.
package struct Janitor: Service {
    /// Bytes without a row are left alone for so long: their row may be on its way.
    static let grace = Duration.seconds(24 * 3600)
    /// Uploads, and blobs, that are not complete after so long are removed.
    static let lifeOfUploads = Duration.seconds(7 * 86_400)
    static let interval = Duration.seconds(600)
    /// Every so many rounds the whole store is looked through, beginning with the first.
    static let roundsPerInventory = 144

    private let leftovers: any LeftoverStore
    private let retention: Retention
    private let blobs: any BlobStore
    private let catalog: any BlobCatalog
    private let area: any DownloadArea
    private let uploads: any UploadArea
    private let logger: Logger

    /// - Parameter retention: How long rows are kept that nobody needs.
    package init(
        leftovers: any LeftoverStore,
        retention: Retention,
        blobs: any BlobStore,
        catalog: any BlobCatalog,
        area: any DownloadArea,
        uploads: any UploadArea,
        logger: Logger
    ) {
        self.leftovers = leftovers
        self.retention = retention
        self.blobs = blobs
        self.catalog = catalog
        self.area = area
        self.uploads = uploads
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            var round = 0
            while !Task.isCancelled {
                do throws(StoreError) {
                    try await removeLeftovers()
                    try await removeExpired()
                    try await removeAbandonedDownloads()
                    try await uploads.remove(begunBefore: .now.advanced(by: .zero - Self.lifeOfUploads))
                    if round.isMultiple(of: Self.roundsPerInventory) {
                        try await blobs.removeUnfinished(begunBefore: .now.advanced(by: .zero - Self.lifeOfUploads))
                        try await removeOrphans(createdBefore: .now.advanced(by: .zero - Self.grace))
                    }
                } catch {
                    logger.warning("tidying failed", metadata: ["error": "\(error)"])
                }
                round += 1
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    /// In small steps, so that no statement holds many rows for long.
    package func removeLeftovers() async throws(StoreError) {
        for leftover in Leftover.allCases {
            while !Task.isCancelled, try await leftovers.remove(leftover, keeping: retention) > 0 {}
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
