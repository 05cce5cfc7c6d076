import FetchJobs

// The credentials that come with a job are stored apart from its spec, sealed.

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
        try configuration.restore(secretBytes: secret)
    }
}
