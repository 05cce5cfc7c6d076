import Crypto
import Postgres
import Synchronization

/// The keys of the service itself, by what they are for; the key ring wraps them, so that it can change.
final class ServiceKeys: Sendable {
    private let client: Client
    private let ring: KeyRing
    private let keys = Mutex<[String: SymmetricKey]>([:])

    init(client: Client, ring: KeyRing) {
        self.client = client
        self.ring = ring
    }

    /// The key for one purpose, the same on all nodes; the first call makes it.
    func key(for purpose: String) async throws -> SymmetricKey {
        if let key = keys.withLock({ $0[purpose] }) { return key }
        let place = KeyRing.Place.serviceKey(for: purpose)
        let new = ring.key(for: purpose).withUnsafeBytes { Array($0) }
        let sealed = try await sealedKey(for: purpose, orElse: try ring.seal(new, for: place))
        let key = SymmetricKey(data: try ring.open(sealed, for: place))
        keys.withLock { $0[purpose] = key }
        return key
    }

    private func sealedKey(for purpose: String, orElse new: [UInt8]) async throws -> [UInt8] {
        let known = try await client.query(
            """
            -- serviceKeys.find
            SELECT sealed_key FROM service_keys WHERE purpose = \(purpose)
            """
        )
        if let row = known.first { return try row.decode(at: 0) }
        let made = try await client.query(
            """
            -- serviceKeys.make
            INSERT INTO service_keys (purpose, sealed_key)
            VALUES (\(purpose), \(new))
            -- An update that changes nothing, so that the row there is comes back, whoever made it.
            ON CONFLICT (purpose) DO UPDATE SET purpose = excluded.purpose
            RETURNING sealed_key
            """
        )
        guard let row = made.first else { throw PostgresError(.unexpectedResult, "The key was not stored.") }
        return try row.decode(at: 0)
    }
}

extension KeyRing.Place {
    static func serviceKey(for purpose: String) -> Self {
        Self(table: "service_keys", column: "sealed_key", tenant: 0, row: purpose)
    }
}
