import FetchJobs
import Postgres
import Synchronization

// Specs that are on other servers than the queue: a look of its own reads them.

/// What a node needs to read a job.
struct StoredSpec {
    let spec: RawJSON
    let secrets: [UInt8]?
}

extension PostgresWorkQueue {
    /// The specs of claimed jobs; none when the claim has read them itself.
    ///
    /// Jobs of tenants whose server does not answer, or has not learned yet what was committed before it was lost, are
    /// given back, and their tenants left alone for a while.
    func specs(ofClaimed rows: Rows) async throws -> [Job.ID: StoredSpec] {
        guard client.isSharded else { return [:] }
        var jobs: [(tenant: Tenant.ID, id: Job.ID, claim: Int32)] = []
        for row in rows where try Limiter.Address(gateOf: row) == nil {
            guard let id = try row.decode(Job.ID?.self, at: 0) else { continue }
            jobs.append((try row.decode(at: 1), id, try row.decode(at: 3)))
        }
        var found: [Job.ID: StoredSpec] = [:]
        do {
            found = try await specs(of: jobs.map { ($0.tenant, $0.id) })
        } catch let error as PostgresError where error.code == .shardUnavailable {
            for (_, jobs) in Dictionary(grouping: jobs, by: \.tenant) {
                do {
                    found.merge(try await specs(of: jobs.map { ($0.tenant, $0.id) })) { first, _ in first }
                } catch let error as PostgresError where error.code == .shardUnavailable {}
            }
        }
        let away = jobs.filter { found[$0.id] == nil }
        guard !away.isEmpty else { return found }
        for tenant in Set(away.map(\.tenant)) { awaySpecs.note(tenant) }
        _ = try await release(away)
        return found
    }

    /// The specs of jobs; none when other statements read them themselves.
    func specs(of jobs: [(tenant: Tenant.ID, id: Job.ID)]) async throws -> [Job.ID: StoredSpec] {
        guard client.isSharded, !jobs.isEmpty else { return [:] }
        // By lists: from them it is known which servers have the rows.
        let rows = try await client.query(
            """
            -- queue.specs
            SELECT j.tenant_id, j.id, j.spec, j.sealed_secrets
            FROM jobs j
            WHERE j.tenant_id = ANY (\(Array(Set(jobs.map(\.tenant))))) AND j.id = ANY (\(jobs.map(\.id)))
            """
        )
        let specs = try rows.map { row in
            (
                try row.decode(Job.ID.self, at: 1),
                StoredSpec(spec: try row.decode(at: 2), secrets: try row.decode(at: 3))
            )
        }
        return Dictionary(specs, uniquingKeysWith: { first, _ in first })
    }
}

/// Tenants whose jobs are on a server that did not answer a moment ago.
final class AwaySpecs: Sendable {
    private static let pause = Duration.seconds(5)
    private let until = Mutex<[Tenant.ID: ContinuousClock.Instant]>([:])

    func note(_ tenant: Tenant.ID, at now: ContinuousClock.Instant = .now) {
        until.withLock { $0[tenant] = now + Self.pause }
    }

    func tenants(at now: ContinuousClock.Instant = .now) -> Set<Tenant.ID> {
        until.withLock { until in
            guard !until.isEmpty else { return [] }
            until = until.filter { $0.value > now }
            return Set(until.keys)
        }
    }
}
