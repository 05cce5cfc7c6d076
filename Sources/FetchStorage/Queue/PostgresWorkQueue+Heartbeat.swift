package import FetchJobs
import FetchRuntime
import Postgres

extension PostgresWorkQueue {
    package func heartbeat() async throws(StoreError) -> Heartbeat {
        try await state(
            behind: """
                -- nodes.heartbeat
                WITH before AS MATERIALIZED (
                    SELECT id FROM nodes WHERE id = \(node) AND lease_until > now()
                ), extended AS (
                    INSERT INTO nodes (id, lease_until, url, volume, roles)
                    VALUES (
                        \(node), now() + \(lease), \(presence.url), \(Int64(presence.volume.number)),
                        \(presence.roles.map(\.rawValue).sorted()))
                    -- One that was begun before the node listened may come after the one that tells where it does.
                    ON CONFLICT (id) DO UPDATE
                    SET lease_until = excluded.lease_until, url = coalesce(excluded.url, nodes.url)
                ),
                """, leaseWasLost: "NOT EXISTS (SELECT FROM before)")
    }

    package func look() async throws(StoreError) -> Heartbeat {
        try await state(behind: "-- nodes.look\nWITH", leaseWasLost: "false")
    }

    package func leave() async throws(StoreError) {
        try await StoreError.wrap {
            _ = try await client.query("-- nodes.leave\nUPDATE nodes SET lease_until = now() WHERE id = \(node)")
        }
    }

    /// - Parameters:
    ///   - opening: Begins the statement, up to its next `WITH` part.
    ///   - leaseWasLost: The value of ``Heartbeat/leaseWasLost``.
    private func state(behind opening: Query, leaseWasLost: Query) async throws(StoreError) -> Heartbeat {
        try await StoreError.wrap {
            let look = scan.beginLook()
            defer { scan.end(look) }
            let asked = ContinuousClock.now
            let tenants = WaitingTenants(in: [.whole], without: look.cursor)
            let rows = try await client.query(
                """
                \(opening) \(Query.cursor(look.cursor))
                SELECT
                    \(leaseWasLost),
                    (SELECT min(lease_until) FROM nodes WHERE id <> \(node)) - now(),
                    EXISTS (\(tenants.known)) OR EXISTS (\(tenants.first)),
                    EXISTS (SELECT FROM webhook_deliveries WHERE state = 'pending' AND next_attempt_at <= now()),
                    ARRAY(SELECT job_id FROM queue WHERE cancelling AND node_id = \(node)),
                    ARRAY(SELECT job_id FROM queue WHERE cancelling AND node_id = \(node) AND keeps_partial),
                    (SELECT count(*) FROM nodes WHERE lease_until >= now() AND id <> \(node)),
                    EXISTS (SELECT FROM sessions WHERE state IN ('finishing', 'cancelling') OR has_events)
                        OR EXISTS (SELECT FROM groups WHERE closed_at IS NOT NULL AND finished_at IS NULL),
                    EXISTS (SELECT FROM queue WHERE scheduled AND run_at < now() + \(lease))
                        OR EXISTS (SELECT FROM queue WHERE node_id IS NULL AND expires_at < now() + \(lease)),
                    ARRAY(SELECT job_id FROM queue WHERE suspended AND node_id = \(node)),
                    EXISTS (SELECT FROM schedules WHERE next_run_at < now() + \(lease)),
                    EXISTS (SELECT FROM queue WHERE \(Query.isPatient)),
                    EXISTS (SELECT FROM queue WHERE gate = 'flow') OR EXISTS (SELECT FROM queue WHERE gate = 'host'),
                    (SELECT version FROM queue_state),
                    ARRAY(SELECT job_id FROM queue WHERE is_changed AND node_id = \(node)),
                    EXISTS (SELECT FROM queue q WHERE \(Query.isWaitingSuspect)),
                    (
                        SELECT count(*)
                        FROM nodes
                        WHERE lease_until >= now() AND id <> \(node) AND \(NodeRole.worker.rawValue) = ANY (roles)
                    ),
                    clock_timestamp()
                """
            )
            guard let row = rows.first else { throw StoreError(.failed, "The heartbeat of this node has no answer.") }
            DatabaseClock.note(try row.decode(at: 17), askedAt: asked)
            let others = try row.decode(Int64.self, at: 6)
            peers.note(others > 0)
            let workers = try row.decode(Int64.self, at: 16) + (presence.roles.contains(.worker) ? 1 : 0)
            known.bandwidths.share(among: max(1, workers))
            let version = try row.decode(Int64.self, at: 13)
            var failures: [UpkeepFailure] = []
            await failures.note(.limiters) { try await known.refresh(to: version) }
            await failures.note(.protocols) { try await protocols?.refresh(to: version) }
            await failures.note(.rules) { try await rules?.refresh(to: version) }
            await failures.note(.egress) { try await egress?.refresh(to: version) }
            await failures.note(.quotas) { try await tenantLimits?.refresh(to: version) }
            let paces = await paces(of: try row.decode(at: 14), &failures)
            if try row.decode(Bool.self, at: 0), others > 0 {
                // They have a part of every host's connections from now on.
                await failures.note(.limiters) { try await Notifications.tell(client) }
            }
            return Heartbeat(
                // Among the rows that were stepped over, some may have come late: a claim finds out, when it may.
                hasQueuedJobs: try row.decode(Bool.self, at: 2) || !look.cursor.isEmpty,
                hasJobsToPromote: try row.decode(at: 8),
                hasGatedJobs: try row.decode(at: 12),
                hasSuspects: try row.decode(at: 15),
                hasDueDeliveries: try row.decode(at: 3),
                cancelled: try row.decode(at: 4),
                keepingPartial: try row.decode(at: 5),
                suspended: try row.decode(at: 9),
                paces: paces,
                leaseWasLost: try row.decode(at: 0),
                hasUnsettledEnds: try row.decode(at: 7),
                hasSchedules: try row.decode(at: 10),
                hasDiscretionaryJobs: try row.decode(at: 11),
                nextLoss: try row.decode(at: 1),
                failures: failures,
                workers: Int(workers)
            )
        }
    }

    /// How jobs are to go on that were changed, at another pace perhaps; few are.
    private func paces(of jobs: [Job.ID], _ failures: inout [UpkeepFailure]) async -> [Job.ID: JobPace] {
        guard !jobs.isEmpty else { return [:] }
        var paces: [Job.ID: JobPace] = [:]
        var unreadable: [UpkeepFailure] = []
        await failures.note(.paces) {
            for row in try await specs(ofChanged: jobs) {
                let id = try row.decode(Job.ID.self, at: 0)
                do {
                    let spec = try JSONParser.parse(try row.decode(RawJSON.self, at: 1).bytes)
                    paces[id] = try JobSpec(stored: spec).pace
                } catch {
                    unreadable.append(UpkeepFailure(.paces, of: id, StoreError(error)))
                }
            }
        }
        failures += unreadable
        return paces
    }

    private func specs(ofChanged jobs: [Job.ID]) async throws -> Rows {
        try await client.query(
            """
            -- queue.paces
            SELECT j.id, j.spec
            FROM queue q
            JOIN jobs j ON j.tenant_id = q.tenant_id AND j.id = q.job_id
            WHERE q.node_id = \(node) AND q.is_changed AND q.job_id = ANY (\(jobs))
            """
        )
    }
}
