import FetchEngine
import FetchJobs
package import FetchRuntime
import Logging
import ServiceLifecycle
import Synchronization

/// The limits and the memory that the caches of all sessions share, and the cleanup that no load waits for.
package final class CacheEvictor: Service {
    /// How much is cached.
    package struct Configuration: Sendable {
        /// How many bytes each tenant may have stored, bodies and fields.
        package var capacity: Int64 = 256 << 20
        /// How many bytes of them this node has in memory, of all tenants.
        package var memoryCapacity: Int64 = 64 << 20
        /// The part of the capacity that one body may take at most.
        package var maximumEntryFraction = 0.05

        package init() {}
    }

    /// A step of cleanup, which no load waits for.
    enum Cleanup: Sendable {
        /// Nobody needs these any more.
        case delete([Blob.ID])
        /// The load ended before the body was whole.
        case abandon(any BlobWriter)
        /// A tenant may have more than it is to have.
        case evict(Tenant.ID)
    }

    let blobs: any BlobStore
    let room: CacheRoom
    let turns: CacheTurns
    private let configuration: Configuration
    private let table: CacheTable
    private let peers: Peers
    private let logger: Logger
    private let cleanups: AsyncStream<Cleanup>
    private let sending: AsyncStream<Cleanup>.Continuation
    /// The bytes stored for each tenant since it was last searched for a surplus.
    private let stored = Mutex<[Tenant.ID: Int64]>([:])
    /// How many entries were removed from the database for the room of others.
    private let evicted = Atomic<Int>(0)

    init(
        _ configuration: Configuration,
        table: CacheTable,
        node: Node.ID,
        peers: Peers,
        blobs: any BlobStore,
        logger: Logger
    ) {
        self.configuration = configuration
        self.table = table
        self.peers = peers
        self.blobs = blobs
        self.logger = logger
        room = CacheRoom(capacity: configuration.memoryCapacity)
        // A cleanup that is dropped costs room or a wait, and only until the pruner comes or the turn runs out.
        (cleanups, sending) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(10_000))
        turns = CacheTurns(client: table.client, node: node)
    }

    /// Has the metrics tell of the memory.
    package func report(to metrics: MetricsRegistry) {
        metrics.observe(.cacheMemory) { [room] in Double(room.bytes) }
        metrics.observeAll(.cacheEvictions) { [self] in
            [("memory", room.evictions), ("database", evicted.load(ordering: .relaxed))].map { store, count in
                MetricsRegistry.Observation(labels: [store], value: Double(count))
            }
        }
    }

    var hasOtherNodes: Bool { peers.exist }

    func send(_ cleanup: Cleanup) { sending.yield(cleanup) }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { for await cleanup in self.cleanups { await self.perform(cleanup) } }
                group.addTask { await self.turns.endGiven { self.note($0) } }
            }
        }
    }

    private func perform(_ cleanup: Cleanup) async {
        switch cleanup {
        case .delete(let ids):
            for id in ids { await reaching { try await self.blobs.delete(id) } }
        case .abandon(let blob): await blob.abandon()
        case .evict(let tenant):
            // The entries that come until the next look have room too.
            let capacity = configuration.capacity / 20 * 19
            let surplus = await reaching { try await self.table.evict(tenant, capacity: capacity) }
            guard let surplus else { return }
            evicted.add(surplus.count, ordering: .relaxed)
            for id in surplus.blobs { await reaching { try await self.blobs.delete(id) } }
        }
    }

    /// Has a tenant looked through for too much once a twentieth of the capacity has been stored here.
    func noteStored(_ cost: Int64, of tenant: Tenant.ID) {
        let isDue = stored.withLock { stored in
            let sum = stored[tenant, default: 0] + cost
            stored[tenant] = sum > configuration.capacity / 20 ? 0 : sum
            return sum > configuration.capacity / 20
        }
        if isDue { send(.evict(tenant)) }
    }

    func maximumBytes(for policy: CachedResponse.StoragePolicy) -> Int64 {
        switch policy {
        case .allowed: Int64(Double(configuration.capacity) * configuration.maximumEntryFraction)
        case .allowedInMemoryOnly: Int64(Double(room.perSession) * configuration.maximumEntryFraction)
        case .notAllowed: 0
        }
    }

    /// Runs a call of the database or the blob store; a cache that cannot reach them behaves as if it were empty.
    @discardableResult
    nonisolated(nonsending) func reaching<Value>(
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async -> Value? {
        do { return try await body() } catch {
            note(error)
            return nil
        }
    }

    private func note(_ error: any Error) {
        logger.warning("the cache was not reached", metadata: ["error": "\(error)"])
    }
}
