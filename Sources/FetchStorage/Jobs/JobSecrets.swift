import FetchJobs

// The secrets of a job are sealed, and stored apart from its spec.

private let table = "jobs"

extension NewJob {
    /// Its secrets, sealed; nil when it has none.
    func sealed(_ keys: TenantKeys) async throws -> [UInt8]? {
        guard let secret = spec.secretBytes else { return nil }
        return try await keys.vault(of: tenant).seal(secret, table: table, row: Array(id.description.utf8))
    }

    /// The same job, whose key stands for its secrets too.
    ///
    /// Their digest is made with the tenant's key: by one that anybody can make they could be guessed.
    func naming(_ keys: TenantKeys) async throws -> NewJob {
        guard let idempotency, let secret = spec.secretBytes else { return self }
        let digest = try await keys.vault(of: tenant).digest(of: idempotency.fingerprint.bytes + secret)
        return NewJob(
            id: id, tenant: tenant, spec: spec,
            idempotency: Idempotency(key: idempotency.key, fingerprint: SHA256Digest(bytes: digest)))
    }
}

extension JobSpec {
    /// Puts the sealed secrets back in their places.
    mutating func open(_ secrets: [UInt8], of id: Job.ID, tenant: Tenant.ID, keys: TenantKeys) async throws {
        let secret = try await keys.vault(of: tenant).open(secrets, table: table, row: Array(id.description.utf8))
        try restore(secretBytes: secret)
    }
}
