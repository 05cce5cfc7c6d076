import FetchJobs
package import Postgres

/// The invariants of all jobs, as far as the database can check them.
package struct PostgresInvariants: Sendable {
    /// An invariant that does not hold.
    package struct Violation: Sendable, Equatable {
        /// The invariant as a sentence.
        package let invariant: String
        /// The number of violations.
        package let count: Int64
        /// The id of one object that violates it.
        package let example: String
    }

    private let client: Client

    package init(client: Client) { self.client = client }

    /// Reads all jobs, which takes long when they are many; changes nothing.
    ///
    /// - Parameters:
    ///   - patience: How late periodic work of nodes may be.
    ///   - kept: How long deliveries are kept; for earlier ends it is unknown whether they were delivered.
    package func violations(
        patience: Duration = .seconds(60), kept: Duration = Retention().deliveries
    ) async throws -> [Violation] {
        let check: Query = client.isSharded ? "check_distributed_invariants" : "check_invariants"
        return try await client.query(
            """
            -- jobs.checkInvariants
            SELECT invariant, violations, example FROM \(check)(\(patience), \(kept))
            """
        ).map { row in
            Violation(
                invariant: try row.decode(at: 0), count: try row.decode(at: 1), example: try row.decode(at: 2))
        }
    }
}
