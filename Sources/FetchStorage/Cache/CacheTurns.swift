import FetchEngine
import FetchJobs
import FetchRuntime
import Postgres
import Synchronization

/// The turns of nodes to fetch missing responses, so that one request serves the jobs of all.
///
/// A turn is over when it is returned, when its node is gone, or when its time is up.
struct CacheTurns: Sendable {
    private struct TurnRequest: Sendable {
        let place: CacheTable.Place
        let limit: Duration
    }

    private let client: Client
    private let node: Node.ID
    private let returned = ReturnedTurns()
    private let taking: Batcher<TurnRequest, Bool>

    init(client: Client, node: Node.ID) {
        self.client = client
        self.node = node
        taking = Batcher(maximumItems: 500) { try await Self.take($0, client: client, node: node) }
    }

    /// Waits for the turn; nil when it has not come within the limit, or the caller was cancelled.
    func take(_ place: CacheTable.Place, within limit: Duration) async throws -> (any CacheTurn)? {
        let deadline = ContinuousClock.now + limit
        var backoff = Backoff(initial: .milliseconds(20), maximum: .milliseconds(200))
        while !Task.isCancelled, ContinuousClock.now < deadline {
            if try await taking.submit([TurnRequest(place: place, limit: limit)]).first == true {
                return Turn(place, returned)
            }
            guard (try? await Task.sleep(for: backoff.next())) != nil else { return nil }
        }
        return nil
    }

    private static func take(_ requests: [TurnRequest], client: Client, node: Node.ID) async throws -> [Bool] {
        // A node asks for a key once at a time; if it asks twice, the turn is its own already.
        let places = Dictionary(requests.map { ($0.place, $0.limit) }, uniquingKeysWith: max)
        let rows = try await client.query(
            """
            -- cache.takeTurn
            INSERT INTO cache_turns AS t (tenant_id, session_id, key, node_id, expires_at)
            SELECT tenant_id, session_id, key, \(node), now() + patience
            FROM unnest(
                \(places.keys.map(\.session.tenant)), \(places.keys.map(\.session.session)),
                \(places.keys.map(\.key)), \(Array(places.values))
            ) AS input (tenant_id, session_id, key, patience)
            -- In one order, so that two nodes that want the same cannot wait for each other.
            ORDER BY tenant_id, session_id, key
            ON CONFLICT (tenant_id, session_id, key) DO UPDATE
            SET node_id = excluded.node_id, expires_at = excluded.expires_at
            WHERE t.node_id = excluded.node_id OR t.expires_at < now()
                OR NOT EXISTS (SELECT FROM nodes n WHERE n.id = t.node_id AND n.lease_until > now())
            RETURNING tenant_id, session_id, key
            """
        )
        let taken = Set(
            try rows.map { row in
                CacheTable.Place(
                    session: SessionAddress(tenant: try row.decode(at: 0), session: try row.decode(at: 1)),
                    key: try row.decode(at: 2))
            })
        return requests.map { taken.contains($0.place) }
    }

    /// How long returned turns gather.
    ///
    /// Nodes that wait for one ask every 20 to 200 ms.
    private static let gathering = Duration.milliseconds(50)

    /// Passes on the turns that were returned, until it is cancelled.
    func endGiven(_ failed: (any Error) -> Void) async {
        for await _ in returned.condition.values {
            // Most are for what no other node asks for, and each alone would be a commit.
            try? await Task.sleep(for: Self.gathering)
            do { try await end(returned.takeAll()) } catch { failed(error) }
        }
    }

    private func end(_ places: [CacheTable.Place]) async throws {
        guard !places.isEmpty else { return }
        try await client.query(
            """
            -- cache.endTurns
            DELETE FROM cache_turns t
            USING unnest(
                \(places.map(\.session.tenant)), \(places.map(\.session.session)), \(places.map(\.key))
            ) AS over (tenant_id, session_id, key)
            WHERE t.tenant_id = over.tenant_id AND t.session_id = over.session_id AND t.key = over.key
                AND t.node_id = \(node)
            """
        )
    }

    private final class Turn: CacheTurn {
        private let place: CacheTable.Place
        private let returned: ReturnedTurns

        init(_ place: CacheTable.Place, _ returned: ReturnedTurns) {
            self.place = place
            self.returned = returned
        }

        deinit { returned.add(place) }
    }

    /// The turns that were returned and are not ended yet.
    private final class ReturnedTurns: Sendable {
        private let places = Mutex<[CacheTable.Place]>([])
        let condition = Condition()

        func add(_ place: CacheTable.Place) {
            places.withLock { $0.append(place) }
            condition.signal()
        }

        func takeAll() -> [CacheTable.Place] {
            places.withLock { places in
                defer { places = [] }
                return places
            }
        }
    }
}
