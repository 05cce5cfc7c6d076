import FetchEngine
import FetchJobs
import FetchRuntime
import Logging
import Postgres
import ServiceLifecycle
import Synchronization

/// Writes down which credential was given to which job.
///
/// No load waits for it: uses that are noted while a statement is under way go with the next one.
package final class CredentialUses: Service {
    struct New: Sendable, Equatable {
        let tenant: Tenant.ID
        let credential: StoredCredential.ID
        let job: Job.ID?
        /// As it is written.
        let space: RawJSON
    }

    /// How many may wait for a database that is away.
    private static let maximumWaiting = 100_000

    private let client: Client
    private let audit: (any AuditLog)?
    private let logger: Logger
    private let waiting = Mutex<[New]>([])
    private let arrivals = Condition()

    init(client: Client, audit: (any AuditLog)? = nil, logger: Logger) {
        self.client = client
        self.audit = audit
        self.logger = logger
    }

    /// Notes a use, which is written soon.
    func note(_ use: New) {
        let isFirst = waiting.withLock { waiting in
            // One load asks for each of its hops.
            guard waiting.last != use, waiting.count < Self.maximumWaiting else { return false }
            waiting.append(use)
            return waiting.count == 1
        }
        if isFirst { arrivals.signal() }
        audit?.note(AuditEvent(.useCredential, use.credential.description, of: use.tenant, by: .service))
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            for await _ in self.arrivals.values {
                while await !self.write(), !Task.isCancelled { try? await Task.sleep(for: .seconds(1)) }
            }
        }
        // The jobs are over by now.
        _ = await write()
    }

    /// Writes the uses that wait; false when they have to wait on.
    private func write() async -> Bool {
        let uses = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        guard !uses.isEmpty else { return true }
        do {
            try await Self.insert(uses, client)
            return true
        } catch {
            // The log tells readers that the list has a gap, should the node end before.
            logger.warning(
                "uses of credentials were not noted",
                metadata: ["credentials.count": "\(uses.count)", "error": "\(error)"])
            waiting.withLock { $0.insert(contentsOf: uses, at: 0) }
            return false
        }
    }

    private static func insert(_ uses: [New], _ client: Client) async throws {
        try await client.query(
            """
            -- credentialUses.note
            INSERT INTO credential_uses (tenant_id, credential_id, job_id, space)
            SELECT tenant_id, credential_id, job_id, space
            FROM unnest(
                \(uses.map(\.tenant)),
                \(uses.map(\.credential)),
                \(uses.map(\.job)),
                \(uses.map(\.space))
            ) AS input (tenant_id, credential_id, job_id, space)
            """
        )
    }

    func list(
        of credential: StoredCredential.ID?, tenant: Tenant.ID, after use: CredentialUse.ID?, limit: Int
    ) async throws -> [CredentialUse] {
        let rows = try await client.of(tenant).query(
            """
            -- credentialUses.list
            SELECT id, used_at, credential_id, job_id, space
            FROM credential_uses
            WHERE tenant_id = \(tenant)
                AND (\(credential) IS NULL OR credential_id = \(credential))
                AND (\(use) IS NULL OR id < \(use))
            ORDER BY id DESC
            LIMIT \(limit)
            """
        )
        return try rows.map { row in
            CredentialUse(
                id: try row.decode(at: 0), usedAt: try row.decode(at: 1), credential: try row.decode(at: 2),
                job: try row.decode(at: 3), space: try row.decode(at: 4))
        }
    }
}
