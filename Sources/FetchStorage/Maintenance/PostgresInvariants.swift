import FetchJobs
package import Postgres

/// What must hold of all jobs at every time, as the database can tell.
package struct PostgresInvariants: Sendable {
    /// One that does not hold.
    package struct Violation: Sendable, Equatable {
        /// What should be so, as a sentence.
        package let invariant: String
        /// How often it is not.
        package let count: Int64
        /// One of what it is not so for, as the API names it.
        package let example: String
    }

    private let client: Client

    package init(client: Client) { self.client = client }

    /// Looks at all jobs, which takes its time when they are many; changes nothing.
    ///
    /// - Parameters:
    ///   - patience: How late may be what nodes do by themselves.
    ///   - kept: How long deliveries are kept: what ended earlier may have been told, and nobody knows it any more.
    package func violations(
        patience: Duration = .seconds(60), kept: Duration = Retention().deliveries
    ) async throws -> [Violation] {
        try await client.query(
            """
            -- jobs.checkInvariants
            SELECT invariant, violations, example FROM check_invariants(\(patience), \(kept))
            """
        ).map { row in
            Violation(
                invariant: try row.decode(at: 0), count: try row.decode(at: 1), example: try row.decode(at: 2))
        }
    }
}
