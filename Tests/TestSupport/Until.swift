/// The error of a condition that a test waited for in vain.
package struct NeverHappened: Error {}

/// Waits until a condition holds: for `bound` at most, a minute unless told, and no longer than the test may take.
///
/// For conditions that no event announces; a loop without a bound would hold up all tests when it fails. The pauses
/// between its looks become longer, up to 20 ms, or three times as long as a look takes where that is more: the processor
/// is to be free for the work that is waited for.
package func until(within bound: Duration = .seconds(60), _ condition: () async throws -> Bool) async throws {
    let clock = ContinuousClock()
    var (start, pause) = (clock.now, Duration.milliseconds(1))
    let deadline = start.advanced(by: bound)
    while try await !condition() {
        let end = clock.now
        guard end < deadline else { throw NeverHappened() }
        try await Task.sleep(for: max(pause, min((end - start) * 3, .milliseconds(200))))
        pause = min(pause * 2, .milliseconds(20))
        start = clock.now
    }
}
