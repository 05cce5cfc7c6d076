/// The error of a condition that a test waited for in vain.
package struct NeverHappened: Error {}

/// Waits until a condition holds: a minute at most, and no longer than the test may take.
///
/// For conditions that no event announces; a loop without a bound would hold up all tests when it fails. The pauses
/// between its looks become longer, up to 20 ms, so that the processor is free for the work that is waited for.
package func until(_ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now.advanced(by: .seconds(60))
    var pause = Duration.milliseconds(1)
    while try await !condition() {
        guard ContinuousClock.now < deadline else { throw NeverHappened() }
        try await Task.sleep(for: pause)
        pause = min(pause * 2, .milliseconds(20))
    }
}
