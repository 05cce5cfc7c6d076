import FetchJobs

/// Keeps the blobs that jobs send from being deleted, and refuses jobs that name others.
struct BlobPins: Sendable {
    let catalog: any BlobCatalog

    /// Holds the blobs of a job that is about to be stored.
    nonisolated(nonsending) func hold(for job: NewJob) async throws {
        let named = job.spec.blobs
        guard !named.isEmpty else { return }
        let held = try await catalog.hold(Set(named.map(\.id)), for: job.id, of: job.tenant)
        let missing = named.filter { !held.contains($0.id) }
        guard missing.isEmpty else {
            throw InvalidInput(missing.map { Violation(pointer: $0.pointer, message: "is not a blob of yours") })
        }
    }
}
