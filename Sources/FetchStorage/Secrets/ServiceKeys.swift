import Crypto
import Postgres

/// The keys of the service itself, by their purpose; the key ring wraps them, so that it can change.
struct ServiceKeys: Sendable {
    private let ring: KeyRing
    private let keys: SealedKeys<String, SymmetricKey>

    init(client: Client, ring: KeyRing) {
        self.ring = ring
        keys = SealedKeys(client: client, ring: ring, table: "service_keys", owner: "purpose")
    }

    /// The key for one purpose, the same on all nodes; the first call makes it.
    func key(for purpose: String) async throws -> SymmetricKey {
        try await keys.key(
            of: purpose, at: .serviceKey(for: purpose),
            orElse: { ring.key(for: purpose).withUnsafeBytes { Array($0) } }, open: { SymmetricKey(data: $0) })
    }
}

extension KeyRing.Place {
    static func serviceKey(for purpose: String) -> Self {
        Self(table: "service_keys", column: "sealed_key", tenant: 0, row: purpose)
    }
}
