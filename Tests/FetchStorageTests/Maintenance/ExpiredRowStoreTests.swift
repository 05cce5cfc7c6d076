import FetchJobs
import FetchStorage
import Postgres
import TestSupport
import Testing

/// The rows that are removed once nobody needs them, and those that stay.
@Suite struct ExpiredRowStoreTests {
    private struct Fixture {
        let database: TestDatabase
        let tenant: Tenant.ID
        let store: PostgresExpiredRowStore
        /// A retention by which everything that is a minute old has expired.
        var retention: Retention {
            var retention = Retention()
            retention.idempotencyKeys = .seconds(60)
            retention.cookies = .seconds(60)
            retention.deliveries = .seconds(60)
            retention.credentialUses = .seconds(60)
            retention.counts = .seconds(60)
            retention.circuits = .seconds(60)
            retention.limiters = .seconds(60)
            retention.jobs = .seconds(60)
            return retention
        }

        func count(_ table: Query) async throws -> Int {
            try await database.client.query("SELECT FROM \(table)").count
        }

        func run(_ statement: Query) async throws { try await database.client.query(statement) }

        /// Removes one row at a time until none is left.
        func removeAll(_ expiredRow: ExpiredRow) async throws -> Int {
            var count = 0
            while case let more = try await store.remove(expiredRow, keeping: retention), more > 0 { count += more }
            return count
        }

        func addCookie(_ key: UInt8, in layer: TenantSession.ID, expiringIn time: Duration?) async throws {
            try await run(
                """
                INSERT INTO cookies (
                    tenant_id, layer_id, key, name, domain, is_host_only, path, is_secure, is_http_only, created_at,
                    expires_at
                )
                VALUES (
                    \(tenant), \(layer), \([key]), \([key]), 'h', true, '/', false, false, now(),
                    now() + \(time)::interval
                )
                """
            )
        }

        func addStores(_ layers: [TenantSession.ID], of session: TenantSession.ID = TenantSession.ID()) async throws {
            try await run(
                "INSERT INTO session_stores (tenant_id, session_id, layer_ids) VALUES (\(tenant), \(session), \(layers))"
            )
        }
    }

    private func with(_ body: (Fixture) async throws -> Void) async throws {
        try await TestDatabase.with(Schema.migrations) { database in
            let rows = try await database.client.query("INSERT INTO tenants (name) VALUES ('a') RETURNING id")
            try await body(
                Fixture(
                    database: database, tenant: try #require(rows.first).decode(at: 0),
                    store: PostgresExpiredRowStore(client: database.client, limit: 1)))
        }
    }

    @Test func `keys of submissions and jobs, uses of credentials, counts and turns go when they are old`() async throws
    {
        try await with { fixture in
            for age in [Duration.seconds(120), .seconds(90), .zero] {
                try await fixture.run(
                    """
                    INSERT INTO idempotency_keys (tenant_id, key, fingerprint, created_id, created_at)
                    VALUES (\(fixture.tenant), \("\(age)"), '', \(Job.ID()), now() - \(age))
                    """
                )
                let use = CredentialUse.ID(earliestAt: .now.advanced(by: .zero - age))
                try await fixture.run(
                    """
                    INSERT INTO credential_uses (tenant_id, id, credential_id, space)
                    VALUES (\(fixture.tenant), \(use), \(StoredCredential.ID()), '{}')
                    """
                )
                try await fixture.run(
                    """
                    INSERT INTO job_counts (tenant_id, minute, node_id, state, jobs, body_bytes)
                    VALUES (\(fixture.tenant), now() - \(age), \(Node.ID()), 'failed', 1, 1)
                    """
                )
                try await fixture.run(
                    """
                    INSERT INTO cache_turns (tenant_id, session_id, key, node_id, expires_at)
                    VALUES (\(fixture.tenant), \(TenantSession.ID()), '', \(Node.ID()), now() - \(age))
                    """
                )
            }
            for (number, age) in [120, 90, -600].enumerated() {
                try await fixture.run(
                    """
                    INSERT INTO unique_keys (tenant_id, key, job_id, expires_at)
                    VALUES (\(fixture.tenant), \("\(number)"), \(Job.ID()), now() - \(Duration.seconds(age)))
                    """
                )
            }
            for (expiredRow, table) in [
                (ExpiredRow.uniqueKeys, "unique_keys" as Query), (.idempotencyKeys, "idempotency_keys"),
                (.credentialUses, "credential_uses"), (.counts, "job_counts"), (.cacheTurns, "cache_turns"),
            ] {
                #expect(try await fixture.removeAll(expiredRow) == 2)
                #expect(try await fixture.count(table) == 1)
            }
        }
    }

    // R35
    @Test func `circuits that were open long ago are forgotten, unless jobs wait or more is set`() async throws {
        try await with { fixture in
            for (key, parallelism, age) in [("a", Int32?.none, 120), ("b", 3, 120), ("c", nil, 120), ("d", nil, 0)] {
                try await fixture.run(
                    """
                    INSERT INTO limiters (tenant_id, kind, key, parallelism, circuit_open_until, circuit_reason, version)
                    VALUES (
                        \(fixture.tenant), 'host', \(key), \(parallelism), now() - \(Duration.seconds(age)), '429', 1
                    )
                    """
                )
            }
            try await fixture.run(
                """
                INSERT INTO queue (tenant_id, job_id, rank, host, gate)
                VALUES (\(fixture.tenant), \(Job.ID()), 500, 'c', 'host')
                """
            )
            #expect(try await fixture.removeAll(.circuits) == 2)
            #expect(try await fixture.count("limiters WHERE circuit_open_until IS NULL AND key IN ('a', 'b')") == 2)
            #expect(try await fixture.count("limiters WHERE removed_at IS NOT NULL AND key = 'a'") == 1)
            #expect(try await fixture.count("queue_state s JOIN limiters l USING (version) WHERE version = 2") == 1)
            #expect(try await fixture.removeAll(.limiters) == 0)
            try await fixture.run("UPDATE limiters SET removed_at = now() - interval '90 seconds' WHERE key = 'a'")
            try await fixture.run(
                """
                INSERT INTO limiter_starts (tenant_id, kind, key, started_at, job_id)
                SELECT tenant_id, kind, key, now(), \(Job.ID()) FROM limiters
                """
            )
            #expect(try await fixture.removeAll(.limiters) == 1)
            #expect(try await fixture.count("limiters") == 3)
            #expect(try await fixture.count("limiter_starts") == 3)
        }
    }

    // R37
    @Test func `jobs that are gone or ended well hold up no flow; those that failed or are tried again do`()
        async throws
    {
        try await with { fixture in
            let jobs = (failed: Job.ID(), repeated: Job.ID(), succeeded: Job.ID(), removed: Job.ID())
            for job in [jobs.failed, jobs.repeated, jobs.succeeded, jobs.removed] {
                try await fixture.run(
                    "INSERT INTO flow_blocks (tenant_id, flow, job_id) VALUES (\(fixture.tenant), 'f', \(job))")
            }
            try await fixture.run(
                """
                INSERT INTO results (tenant_id, job_id, state, error_name, error)
                VALUES (\(fixture.tenant), \(jobs.failed), 'failed', 'timedOut', '{}')
                """
            )
            try await fixture.run(
                """
                INSERT INTO results (tenant_id, job_id, state, status, response)
                VALUES (\(fixture.tenant), \(jobs.succeeded), 'succeeded', 200, '{}')
                """
            )
            try await fixture.run(
                "INSERT INTO queue (tenant_id, job_id, rank) VALUES (\(fixture.tenant), \(jobs.repeated), 500)")
            #expect(try await fixture.removeAll(.flowBlocks) == 2)
            let left: [Job.ID] = [jobs.failed, jobs.repeated]
            #expect(try await fixture.count("flow_blocks WHERE job_id = ANY (\(left))") == 2)
        }
    }

    @Test func `cookies that have expired go, unless they hide others`() async throws {
        try await with { fixture in
            let (bottom, top) = (TenantSession.ID(), TenantSession.ID())
            try await fixture.addStores([top, bottom])
            for (key, layer) in [(UInt8(1), bottom), (2, bottom), (3, top)] {
                try await fixture.addCookie(key, in: layer, expiringIn: .seconds(-120))
            }
            try await fixture.addCookie(4, in: bottom, expiringIn: .seconds(-10))
            try await fixture.addCookie(5, in: bottom, expiringIn: nil)
            #expect(try await fixture.removeAll(.cookies) == 2)
            #expect(try await fixture.count("cookies WHERE key IN ('\\x03', '\\x04', '\\x05')") == 3)
        }
    }

    @Test func `layers go that nothing lies on when they are looked at twice`() async throws {
        try await with { fixture in
            let layers = (0..<6).map { _ in TenantSession.ID() }
            for (key, layer) in (layers + [TenantSession.ID.default]).enumerated() {
                try await fixture.addCookie(UInt8(key), in: layer, expiringIn: nil)
            }
            try await fixture.addStores([layers[0], layers[1]])
            try await fixture.run(
                """
                INSERT INTO session_snapshots (tenant_id, id, session_id, spec, layer_ids, cookie_accept_policy)
                VALUES (\(fixture.tenant), \(SessionSnapshot.ID()), \(layers[2]), '{}', \([layers[2]]), 'always')
                """
            )
            try await fixture.run(
                "INSERT INTO sessions (tenant_id, id, kind, spec) VALUES (\(fixture.tenant), \(layers[3]), 'default', '{}')"
            )
            #expect(try await fixture.store.remove(.layers, keeping: fixture.retention) == 0)
            // One of two unused layers has got its session meanwhile.
            try await fixture.addStores([TenantSession.ID(), layers[4]])
            #expect(try await fixture.store.remove(.layers, keeping: fixture.retention) == 1)
            #expect(try await fixture.store.remove(.layers, keeping: fixture.retention) == 0)
            #expect(try await fixture.count("cookies") == 6)
            let left = try await fixture.database.client.query("SELECT FROM cookies WHERE layer_id = \(layers[5])")
            #expect(left.isEmpty)
        }
    }

    // R10
    @Test func `groups that finished long ago go, when jobs are not kept for good`() async throws {
        try await with { fixture in
            func add(_ id: JobGroup.ID, finishedAgo age: Duration?) async throws {
                let age = age ?? .seconds(-1)
                try await fixture.run(
                    """
                    INSERT INTO groups (tenant_id, id, spec, created_at, closed_at, finished_at)
                    SELECT \(fixture.tenant), \(id), '{}', now() - interval '1 day', ended.at, ended.at
                    FROM (SELECT CASE WHEN \(age >= .zero) THEN now() - \(age) END AS at) AS ended
                    """
                )
            }
            let day = Timestamp.now.advanced(by: .seconds(-86_400))
            let groups = (0..<5).map { _ in JobGroup.ID(UUIDv7(at: day)) }
            for (id, age) in zip(groups, [Duration.seconds(120), .seconds(90), .seconds(90), .seconds(1), nil]) {
                try await add(id, finishedAgo: age)
            }
            try await fixture.run(
                """
                INSERT INTO webhook_deliveries (tenant_id, id, endpoint_id, group_id, event)
                VALUES (\(fixture.tenant), \(WebhookDelivery.ID()), \(WebhookEndpoint.ID()), \(groups[1]), 'group.finished')
                """
            )
            #expect(try await fixture.store.remove(.groups, keeping: Retention()) == 0)
            #expect(try await fixture.removeAll(.groups) == 2)
            #expect(try await fixture.count("groups") == 3)
            #expect(try await fixture.count("groups WHERE finished_at < now() - interval '60 seconds'") == 1)
        }
    }

    @Test func `deliveries that are over go with their attempts, and those that are not stay`() async throws {
        try await with { fixture in
            let old = Timestamp.now.advanced(by: .seconds(-3600))
            for (state, time) in [("delivered", old), ("abandoned", old), ("pending", old), ("delivered", .now)] {
                let id = WebhookDelivery.ID(UUIDv7(at: time))
                try await fixture.run(
                    """
                    INSERT INTO webhook_deliveries (tenant_id, id, endpoint_id, job_id, event, created_at, state)
                    VALUES (
                        \(fixture.tenant), \(id), \(WebhookEndpoint.ID()), \(Job.ID()), 'job.finished', \(time), \(state)
                    )
                    """
                )
                try await fixture.run(
                    """
                    INSERT INTO webhook_attempts (
                        tenant_id, delivery_id, number, started_at, duration, url, request_headers, status
                    )
                    VALUES (\(fixture.tenant), \(id), 1, \(time), interval '1 second', 'https://h/', '[]', 200)
                    """
                )
            }
            #expect(try await fixture.removeAll(.deliveries) == 2)
            #expect(try await fixture.count("webhook_deliveries WHERE state <> 'abandoned'") == 2)
            #expect(try await fixture.count("webhook_attempts") == 2)
        }
    }
}
