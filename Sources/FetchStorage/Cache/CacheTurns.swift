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
    private let returned: ReturnedTurns
    /// Gives the row of each turn that was taken.
    private let taking: Batcher<TurnRequest, String?>

    init(client: Client, node: Node.ID) {
        let returned = ReturnedTurns()
        self.client = client
        self.node = node
        self.returned = returned
        taking = Batcher(maximumItems: 500) { requests in
            let over = returned.takeAll()
            do { return try await Self.take(requests, ending: over, client: client, node: node) } catch {
                returned.add(over)
                throw error
            }
        }
    }

    /// Waits for the turn; nil when it has not come within the limit, or the caller was cancelled.
    func take(_ place: CacheTable.Place, within limit: Duration) async throws -> (any CacheTurn)? {
        let deadline = ContinuousClock.now + limit
        var backoff = Backoff(initial: .milliseconds(20), maximum: .milliseconds(200))
        while !Task.isCancelled, ContinuousClock.now < deadline {
            if let row = try await taking.submit([TurnRequest(place: place, limit: limit)]).first ?? nil {
                return Turn(row, returned)
            }
            guard (try? await Task.sleep(for: backoff.next())) != nil else { return nil }
        }
        return nil
    }

    /// Takes turns, and ends in the same statement those that were returned since the last one.
    private static func take(
        _ requests: [TurnRequest], ending over: [String], client: Client, node: Node.ID
    ) async throws -> [String?] {
        // A node asks for a key once at a time; if it asks twice, the turn is its own already.
        let places = Dictionary(requests.map { ($0.place, $0.limit) }, uniquingKeysWith: max)
        let rows = try await client.query(
            """
            -- cache.takeTurn
            WITH over AS (\(ending(over, of: node)))
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
            RETURNING tenant_id, session_id, key, ctid::text
            """
        )
        var taken: [CacheTable.Place: String] = [:]
        for row in rows {
            let session = SessionAddress(tenant: try row.decode(at: 0), session: try row.decode(at: 1))
            taken[CacheTable.Place(session: session, key: try row.decode(at: 2))] = try row.decode(at: 3)
        }
        return requests.map { taken[$0.place] }
    }

    /// Ends turns of a node by where their rows are.
    ///
    /// A row that another node has taken over is elsewhere, and so is one that this node has taken once more. Where it was
    /// may be the row of a later turn of this node, once the room was used again: that ends early, and another node may
    /// fetch the same.
    private static func ending(_ rows: [String], of node: Node.ID) -> Query {
        "DELETE FROM cache_turns WHERE ctid = ANY (\(rows)::text[]::tid[]) AND node_id = \(node)"
    }

    /// How long returned turns gather.
    ///
    /// Nodes that wait for one ask every 20 to 200 ms.
    private static let gathering = Duration.milliseconds(50)

    /// Ends the turns that were returned, until it is cancelled.
    func endGiven(_ failed: (any Error) -> Void) async {
        for await _ in returned.condition.values {
            // Most are for what no other node asks for, and each alone would be a commit: the next turn takes them along.
            try? await Task.sleep(for: Self.gathering)
            let rows = returned.takeAll()
            guard !rows.isEmpty else { continue }
            do { try await client.query("-- cache.endTurns\n\(Self.ending(rows, of: node))") } catch { failed(error) }
        }
    }

    private final class Turn: CacheTurn {
        private let row: String
        private let returned: ReturnedTurns

        init(_ row: String, _ returned: ReturnedTurns) {
            self.row = row
            self.returned = returned
        }

        deinit { returned.add([row]) }
    }

    /// The rows of turns that were returned and are not ended yet.
    private final class ReturnedTurns: Sendable {
        private let rows = Mutex<[String]>([])
        let condition = Condition()

        func add(_ more: [String]) {
            rows.withLock { $0 += more }
            condition.signal()
        }

        func takeAll() -> [String] {
            rows.withLock { rows in
                defer { rows = [] }
                return rows
            }
        }
    }
}
