package import FetchJobs
import Synchronization

/// What the uploads of tenants hold on this node while no catalog knows of them: whole ones that are coming in, and
/// those that come in several requests, for as long as they are not complete.
package final class UnfinishedUploads: Sendable {
    private struct OfTenant {
        var bytes: Int64 = 0
        var sizes: [Upload.ID: Int64] = [:]

        mutating func set(_ size: Int64?, of id: Upload.ID) {
            bytes += (size ?? 0) - (sizes[id] ?? 0)
            sizes[id] = size
        }
    }

    private let tenants = Mutex<[Tenant.ID: OfTenant]>([:])

    package init() {}

    /// How many bytes they hold.
    package func bytes(of tenant: Tenant.ID) -> Int64 { tenants.withLock { $0[tenant]?.bytes ?? 0 } }

    /// Those that come in several requests.
    package func ids(of tenant: Tenant.ID) -> Set<Upload.ID> {
        tenants.withLock { Set($0[tenant, default: OfTenant()].sizes.keys) }
    }

    /// How many come in several requests.
    package func count(of tenant: Tenant.ID) -> Int { tenants.withLock { $0[tenant]?.sizes.count ?? 0 } }

    // MARK: In one request

    /// Bytes of a whole upload are there; less than 0 when it is over, however it has ended.
    package func add(_ bytes: Int64, of tenant: Tenant.ID) { change(tenant) { $0.bytes += bytes } }

    // MARK: In several requests

    package func begin(_ id: Upload.ID, of tenant: Tenant.ID, at size: Int64 = 0) {
        change(tenant) { $0.set(size, of: id) }
    }

    /// - Returns: false when there is no such upload, or none any more.
    package func resize(_ id: Upload.ID, of tenant: Tenant.ID, to size: Int64) -> Bool {
        change(tenant) { uploads in
            guard uploads.sizes[id] != nil else { return false }
            uploads.set(size, of: id)
            return true
        }
    }

    /// The upload is a blob or is removed; one that is not known is fine.
    package func end(_ id: Upload.ID, of tenant: Tenant.ID) { change(tenant) { $0.set(nil, of: id) } }

    private func change<Value>(_ tenant: Tenant.ID, _ body: (inout OfTenant) -> Value) -> Value {
        tenants.withLock { tenants in
            // Taken out meanwhile, so that it is changed in place.
            var uploads = tenants.removeValue(forKey: tenant) ?? OfTenant()
            defer { if uploads.bytes != 0 || !uploads.sizes.isEmpty { tenants[tenant] = uploads } }
            return body(&uploads)
        }
    }
}
