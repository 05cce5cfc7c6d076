// Work that no caller awaits: a load that drives itself, a question to a delegate that may be abandoned, a last
// notification. The one place where the engine makes tasks; a task keeps its objects alive until its end.

extension TransferLoop {
    /// Starts something that runs on the loop, except where it goes elsewhere itself.
    @discardableResult
    nonisolated func start(_ body: @escaping @Sendable (isolated TransferLoop) async -> Void) -> Task<Void, Never> {
        Task(executorPreference: eventLoop) { await body(self) }
    }
}

/// Starts code of the program's that may take its time: it does not run on the loop's thread.
func startApart(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task { await body() }
}
