import Postgres
import Synchronization

/// Keys in a table, one for each owner, wrapped by the key ring; the first caller makes one, and all nodes have it.
final class SealedKeys<Owner: PostgresValue & Hashable & Sendable, Key: Sendable>: Sendable {
    private let client: Client
    private let ring: KeyRing
    private let table: Query
    private let owner: Query
    private let opened = Mutex<[Owner: Key]>([:])

    /// - Parameters:
    ///   - table: Where the keys are, in the column `sealed_key`.
    ///   - owner: The column of the owner, which is unique.
    init(client: Client, ring: KeyRing, table: Query, owner: Query) {
        self.client = client
        self.ring = ring
        self.table = table
        self.owner = owner
    }

    /// - Parameters:
    ///   - place: Where the key of this owner lies.
    ///   - new: The bytes of a key, in case there is none.
    ///   - open: Makes a key of its bytes.
    func key(
        of id: Owner, at place: KeyRing.Place, orElse new: () -> [UInt8], open: ([UInt8]) -> Key
    ) async throws -> Key {
        if let key = opened.withLock({ $0[id] }) { return key }
        let rows = try await client.query(
            """
            -- sealedKeys.findOrMake
            INSERT INTO \(table) (\(owner), sealed_key)
            VALUES (\(id), \(try ring.seal(new(), for: place)))
            -- An update that changes nothing, so that the row there is comes back, whoever made it.
            ON CONFLICT (\(owner)) DO UPDATE SET \(owner) = excluded.\(owner)
            RETURNING sealed_key
            """
        )
        guard let row = rows.first else { throw PostgresError(.unexpectedResult, "The key was not stored.") }
        let key = open(try ring.open(try row.decode(at: 0), for: place))
        opened.withLock { $0[id] = key }
        return key
    }
}
