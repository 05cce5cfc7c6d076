import FetchJobs
import Logging
import ServiceLifecycle
import Synchronization

/// Writes down when keys were used last: no request waits for it, and a key is written once a minute at most.
final class KeyUses: Service {
    static let interval = Duration.seconds(60)

    private let store: any KeyStore
    private let logger: Logger
    private let uses = Mutex<[APIKey.ID: Timestamp]>([:])

    init(store: any KeyStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    func note(_ key: APIKey.ID, at time: Timestamp = .now) { uses.withLock { $0[key] = time } }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                // Cancelled at shutdown: what was noted is written below.
                try? await Task.sleep(for: Self.interval)
                await self.write()
            }
        }
    }

    /// Writes what was noted since the last time; keeps it for the next time when that fails.
    func write() async {
        let noted = uses.withLock { uses in
            defer { uses = [:] }
            return uses
        }
        do { try await store.noteUses(noted) } catch {
            logger.warning(
                "uses of keys were not noted", metadata: ["keys.count": "\(noted.count)", "error": "\(error)"])
            uses.withLock { $0.merge(noted) { later, _ in later } }
        }
    }
}
