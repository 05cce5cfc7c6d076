import FetchJobs

// The credential that comes with a job is stored apart from its spec, sealed.

private let table = "jobs"

extension NewJob {
    func seal(_ secret: [UInt8], _ keys: TenantKeys) async throws -> [UInt8]? {
        try await keys.vault(of: tenant).seal(secret, table: table, row: Array(id.description.utf8))
    }
}

extension JobSpec {
    /// Puts what was sealed back in its place.
    mutating func open(_ secrets: [UInt8], of id: Job.ID, tenant: Tenant.ID, keys: TenantKeys) async throws {
        let secret = try await keys.vault(of: tenant).open(secrets, table: table, row: Array(id.description.utf8))
        configuration.authentication.credential = try JobCredential(secretBytes: secret)
    }
}
