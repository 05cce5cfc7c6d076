import Crypto
import FetchJobs
import Foundation
package import Postgres
import Synchronization

/// The key of each tenant, which its secrets are sealed with; the key ring wraps it (SEC-50).
package final class TenantKeys: Sendable {
    private let client: Client
    private let ring: KeyRing
    private let vaults = Mutex<[Tenant.ID: Vault]>([:])

    package init(client: Client, ring: KeyRing) {
        self.client = client
        self.ring = ring
    }

    /// What seals and opens the secrets of a tenant; the first call makes the tenant's key.
    func vault(of tenant: Tenant.ID) async throws -> Vault {
        if let vault = vaults.withLock({ $0[tenant] }) { return vault }
        let place = KeyRing.Place.tenantKey(of: tenant)
        let sealed = try await sealedKey(of: tenant, orElse: try ring.seal(Self.newKey(), for: place))
        let vault = Vault(tenant: tenant, key: SymmetricKey(data: try ring.open(sealed, for: place)))
        vaults.withLock { $0[tenant] = vault }
        return vault
    }

    /// What hides credentials of a tenant in what its cached answers are selected by; another with each master key.
    func selectionKey(of tenant: Tenant.ID) -> [UInt8] {
        ring.key(for: "cache selection \(tenant)").withUnsafeBytes { Array($0) }
    }

    private static func newKey() -> [UInt8] { SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) } }

    private func sealedKey(of tenant: Tenant.ID, orElse new: [UInt8]) async throws -> [UInt8] {
        let rows = try await client.query(
            """
            -- tenantKeys.findOrMake
            INSERT INTO tenant_keys (tenant_id, sealed_key)
            VALUES (\(tenant), \(new))
            -- An update that changes nothing, so that the row there is comes back, whoever made it.
            ON CONFLICT (tenant_id) DO UPDATE SET tenant_id = tenant_keys.tenant_id
            RETURNING sealed_key
            """
        )
        guard let row = rows.first else { throw StoreError(.failed, "The tenant has no key.") }
        return try row.decode(at: 0)
    }
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

    /// A digest of a secret that nobody can make without the key, in 32 bytes.
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
