/// Starts work that no caller awaits: what a session does beside its callers, as those of the URL Loading System do.
///
/// The one place where the client makes tasks; a task keeps its session alive until its end.
@discardableResult
func start<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Task<Value, Never> {
    Task { await body() }
}

/// Repeats a call until the service can be reached: jobs go on without their client, and so they wait for it.
func persistently<Value>(
    _ call: () async throws(FetchdError) -> Value
) async throws(FetchdError) -> Value {
    var failures = 0
    while true {
        do throws(FetchdError) { return try await call() } catch {
            guard error.isRetryable else { throw error }
            try await pause(error.retryAfter ?? .backoff(failures))
            failures += 1
        }
    }
}
