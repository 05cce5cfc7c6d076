extension ResponseCache {
    /// The latest answer stored for a task's request.
    public nonisolated(nonsending) func cachedResponse(for task: SessionTask) async -> CachedResponse? {
        await cachedResponse(for: task.currentRequest)
    }

    /// Stores an answer for a task's request.
    public nonisolated(nonsending) func store(_ cached: CachedResponse, for task: SessionTask) async {
        await store(cached, for: task.currentRequest)
    }
}
