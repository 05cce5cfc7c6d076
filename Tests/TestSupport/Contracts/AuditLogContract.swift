package import FetchJobs

/// What every form of ``AuditLog`` does.
package enum AuditLogContract {
    private static let one = Tenant.ID(rawValue: 1)

    private static func event(
        _ action: AuditAction, _ object: String? = nil, of chain: Tenant.ID = one, key: String? = nil
    ) -> AuditEvent {
        AuditEvent(action, object, of: chain, by: AuditActor(.key, key: key, client: "192.0.2.1", request: "r"))
    }

    package static let clauses: [Clause<any AuditLog>] = [
        Clause("what is recorded is found, the newest first") { log in
            try await log.record(event(.signIn, "a"))
            try await log.record(event(.signOut, "b"))
            let found = try await log.entries(matching: AuditFilter(chain: one), after: nil, limit: 10)
            return compare("objects", found.map(\.object), ["b", "a"])
                + compare("places", found.map(\.sequence), [2, 1])
                + compare("actor", found.map(\.client), ["192.0.2.1", "192.0.2.1"])
        },
        Clause("each tenant has a chain of its own, and so has the service") { log in
            try await log.record(event(.signIn))
            try await log.record(event(.signIn, of: .service))
            try await log.record(event(.signOut, of: .service))
            let own = try await log.entries(matching: AuditFilter(chain: one), after: nil, limit: 10)
            let all = try await log.entries(matching: AuditFilter(), after: nil, limit: 10)
            return compare("own", own.map(\.sequence), [1]) + compare("all", all.map(\.sequence), [2, 1, 1])
        },
        Clause("filters choose, and pages go on") { log in
            for number in 1...3 { try await log.record(event(.cancelJobs, "\(number)", key: "key_a")) }
            try await log.record(event(.removeJobs, "4", key: "key_b"))
            try await log.record(event(.signIn, "5", key: "key_b"))
            func objects(_ change: (inout AuditFilter) -> Void) async throws -> [String?] {
                var filter = AuditFilter(chain: one)
                change(&filter)
                return try await log.entries(matching: filter, after: nil, limit: 10).map(\.object)
            }
            let first = try await log.entries(matching: AuditFilter(chain: one), after: nil, limit: 2)
            let second = try await log.entries(matching: AuditFilter(chain: one), after: first.last?.id, limit: 2)
            let times = try await log.entries(matching: AuditFilter(chain: one), after: nil, limit: 10).map(\.at)
            return compare("pages", (first + second).map(\.object), ["5", "4", "3", "2"])
                + compare("action", try await objects { $0.action = "jobs.cancel" }, ["3", "2", "1"])
                + compare("subject", try await objects { $0.action = "jobs.*" }, ["4", "3", "2", "1"])
                + compare("key", try await objects { $0.actor = "key_b" }, ["5", "4"])
                + compare("kind", try await objects { $0.actor = "cli" }, [])
                + compare("object", try await objects { $0.object = "2" }, ["2"])
                + compare("from", try await objects { $0.from = times[1] }, ["5", "4"])
                + compare("to", try await objects { $0.to = times[3] }, ["1"])
        },
        Clause("a chain that nobody touched is intact") { log in
            for number in 1...3 { try await log.record(event(.cancelJobs, "\(number)")) }
            _ = try await log.entries(matching: AuditFilter(chain: one), after: nil, limit: 1)
            let reports = try await log.verify(one)
            return compare("intact", reports.map(\.fault), [nil]) + compare("head", reports.map(\.head.sequence), [3])
        },
    ]
}
