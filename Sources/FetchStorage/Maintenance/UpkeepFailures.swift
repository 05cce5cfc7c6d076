import FetchJobs
import Postgres

// One bad row fails its own change, and nothing else.

extension [UpkeepFailure] {
    /// Runs a step, and notes it when it fails.
    nonisolated(nonsending) mutating func note(
        _ step: Upkeep, _ body: nonisolated(nonsending) () async throws -> Void
    ) async {
        do { try await body() } catch { append(UpkeepFailure(step, StoreError(error))) }
    }

    /// Runs a statement over many things at once; when the database refuses it, over one half of them and the other,
    /// until those that are to blame are alone, and are noted.
    ///
    /// - Returns: The sum of the results of the statements.
    nonisolated(nonsending) mutating func goAround<Item>(
        _ items: [Item],
        blaming step: Upkeep,
        of job: (Item) -> Job.ID? = { _ in nil },
        _ body: nonisolated(nonsending) ([Item]) async throws -> Int
    ) async throws -> Int {
        guard !items.isEmpty else { return 0 }
        do {
            return try await body(items)
        } catch let error as PostgresError where error.isRefusal {
            guard items.count > 1 else {
                append(UpkeepFailure(step, of: job(items[0]), StoreError(error)))
                return 0
            }
            let half = items.count / 2
            let first = try await goAround([Item](items[..<half]), blaming: step, of: job, body)
            return try await first + goAround([Item](items[half...]), blaming: step, of: job, body)
        }
    }
}

extension PostgresError {
    /// The database has refused the statement, so nothing of it is done, and asking again as before would not help.
    var isRefusal: Bool { sqlState != nil && !isTransient }
}
