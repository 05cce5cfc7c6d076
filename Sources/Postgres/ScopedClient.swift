/// Connections of a ``Client`` that are lent with settings: each statement and each transaction begins with them.
///
/// The settings travel in the message of the statement and end with its transaction, so that the connection is the
/// next borrower's as it was before.
package struct ScopedClient: TransactionRunner {
    let client: Client
    let opening: Query

    @discardableResult
    package nonisolated(nonsending) func query(_ query: Query) async throws(PostgresError) -> Rows {
        try await client.query(query, behind: [opening])
    }

    package func transaction<R: Sendable>(_ body: @Sendable (Connection) async throws -> R) async throws -> R {
        try await client.transaction(behind: [opening], body)
    }
}
