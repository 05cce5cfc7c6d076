import Crypto
import FetchJobs
import FoundationEssentials
package import Postgres

/// The key of each tenant, which its secrets are sealed with; the key ring wraps it (SEC-50).
package final class TenantKeys: Sendable {
    private let ring: KeyRing
    private let vaults: SealedKeys<Tenant.ID, Vault>

    package init(client: Client, ring: KeyRing) {
        self.ring = ring
        vaults = SealedKeys(client: client, ring: ring, table: "tenant_keys", owner: "tenant_id")
    }

    /// The vault of a tenant; the first call makes the tenant's key.
    func vault(of tenant: Tenant.ID) async throws -> Vault {
        try await vaults.key(
            of: tenant, at: .tenantKey(of: tenant), orElse: Self.newKey,
            open: { Vault(tenant: tenant, key: SymmetricKey(data: $0)) })
    }

    /// The key of the digests by which a tenant's cached responses are selected; another with each master key.
    func selectionKey(of tenant: Tenant.ID) -> [UInt8] {
        ring.key(for: "cache selection \(tenant)").withUnsafeBytes { Array($0) }
    }

    private static func newKey() -> [UInt8] { SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) } }
}

/// Seals and opens the secrets of one tenant.
struct Vault: Sendable {
    private static let version: UInt8 = 1

    private let tenant: Tenant.ID
    private let key: SymmetricKey

    fileprivate init(tenant: Tenant.ID, key: SymmetricKey) {
        self.tenant = tenant
        self.key = key
    }

    /// Seals a secret with AES-256-GCM for one place: moved anywhere else it does not open.
    func seal(_ secret: [UInt8], table: String, row: [UInt8]) throws -> [UInt8] {
        let sealed = try AES.GCM.seal(secret, using: key, authenticating: place(table, row))
        return [Self.version] + (sealed.combined.map { Array($0) } ?? [])
    }

    /// The secret sealed for this place.
    func open(_ sealed: [UInt8], table: String, row: [UInt8]) throws -> [UInt8] {
        guard sealed.first == Self.version else {
            throw StoreError(.failed, "A secret was sealed in a way that is not known here.")
        }
        let box = try AES.GCM.SealedBox(combined: sealed.dropFirst())
        return Array(try AES.GCM.open(box, using: key, authenticating: place(table, row)))
    }

    /// A digest of a secret that cannot be computed without the key, in 32 bytes.
    func digest(of secret: [UInt8]) -> [UInt8] {
        let own = HKDF<SHA256>.deriveKey(inputKeyMaterial: key, info: Data("digest".utf8), outputByteCount: 32)
        return Array(HMAC<SHA256>.authenticationCode(for: secret, using: own))
    }

    private func place(_ table: String, _ row: [UInt8]) -> [UInt8] { Array("\(table)/\(tenant)/".utf8) + row }
}

extension KeyRing.Place {
    static func tenantKey(of tenant: Tenant.ID) -> Self {
        Self(table: "tenant_keys", column: "sealed_key", tenant: tenant.rawValue, row: "")
    }
}
