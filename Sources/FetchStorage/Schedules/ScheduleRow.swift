import FetchJobs
import Postgres

// A schedule as its row has it; the secrets of its job lie beside its spec, sealed.

private let table = "schedules"

extension Schedule {
    static let columns: Query = """
        s.tenant_id, s.id, s.spec, s.version, s.created_at, s.paused_at, s.next_run_at, s.last_run_at, s.last_job_id,
        s.last_error, s.last_error_at, s.runs, s.sealed_secrets
        """
    static let columnCount = 13

    init(row: Row, _ keys: TenantKeys) async throws {
        let (tenant, id) = (try row.decode(Tenant.ID.self, at: 0), try row.decode(Schedule.ID.self, at: 1))
        var secrets: [UInt8]?
        if let sealed = try row.decode([UInt8]?.self, at: 12) {
            let vault = try await keys.vault(of: tenant)
            do { secrets = try vault.open(sealed, table: table, row: Array(id.description.utf8)) } catch {
                throw InvalidInput(pointer: "/job", message: "has secrets that cannot be opened")
            }
        }
        self.init(
            id: id,
            tenant: tenant,
            // The same reader checked the spec when it came in.
            spec: try ScheduleSpec(
                stored: try JSONParser.parse(try row.decode(RawJSON.self, at: 2).bytes), secrets: secrets),
            createdAt: try row.decode(at: 4)
        )
        version = try row.decode(at: 3)
        pausedAt = try row.decode(at: 5)
        nextRunAt = try row.decode(at: 6)
        lastRunAt = try row.decode(at: 7)
        lastJob = try row.decode(at: 8)
        if let message = try row.decode(String?.self, at: 9) {
            lastError = Failure(at: try row.decode(at: 10), message: message)
        }
        runs = try row.decode(at: 11)
    }

    /// The secrets of its job, sealed; nil when it has none.
    func sealed(_ keys: TenantKeys) async throws -> [UInt8]? {
        guard let secret = spec.job.secretBytes else { return nil }
        return try await keys.vault(of: tenant).seal(secret, table: table, row: Array(id.description.utf8))
    }

    /// An idempotency key whose fingerprint covers the secrets too.
    func naming(_ idempotency: Idempotency?, _ keys: TenantKeys) async throws -> Idempotency? {
        try await NewJob(tenant: tenant, spec: spec.job, idempotency: idempotency).naming(keys).idempotency
    }
}
