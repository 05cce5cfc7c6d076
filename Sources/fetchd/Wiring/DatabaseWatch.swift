import FoundationEssentials
import Postgres
import ServiceLifecycle

/// Ends a node whose database stays away, so that its supervisor notices and can start it again.
struct DatabaseWatch: Service {
    let client: Client
    /// How long it may be away.
    let patience: Duration

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                // Cancelled at shutdown: nothing to tell anyone.
                try? await Task.sleep(for: min(patience / 4, .seconds(5)))
                guard case .unavailable(let since, _) = client.state else { continue }
                guard Duration.seconds(Date().timeIntervalSince(since)) >= patience else { continue }
                throw ExitError(.unavailable, "the database could not be reached for \(patience.components.seconds) s")
            }
        }
    }
}
