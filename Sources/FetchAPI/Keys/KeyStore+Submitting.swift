import FetchJobs

extension KeyStore {
    /// Submits the first of these jobs, as many as there is room for with a key, and counts those that were stored.
    ///
    /// Room is taken before and given back after, so that the key never submits more than it may; when the store does
    /// not say what became of the jobs, it stays taken.
    ///
    /// - Parameter key: Nil for jobs that count for no key.
    /// - Returns: What became of these jobs; fewer than there are jobs when there was no room for more.
    func submitting(
        _ jobs: [NewJob], with key: APIKey?, _ enqueue: ([NewJob]) async throws -> [Enqueued]
    ) async throws -> [Enqueued] {
        guard let key else { return try await enqueue(jobs) }
        let room = try await count(jobs.count, submittedBy: key)
        guard room > 0 else { return [] }
        let enqueued = try await enqueue(room < jobs.count ? Array(jobs.prefix(room)) : jobs)
        let stored = enqueued.count { if case .accepted = $0 { true } else { false } }
        if stored < room { _ = try await count(stored - room, submittedBy: key) }
        return enqueued
    }
}
