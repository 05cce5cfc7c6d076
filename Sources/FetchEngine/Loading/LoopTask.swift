import EventLoop

extension EventLoop {
    /// Starts what nobody awaits: a load that drives itself, a question that may be given up, a last word to a delegate.
    ///
    /// The one place where the engine makes tasks; one keeps what it works on alive until its end.
    @discardableResult
    func start(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task(executorPreference: self) { await body() }
    }

    /// Starts code of the program's that may take its time: it does not run on the loop's thread.
    func startApart(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task { await body() }
    }
}
