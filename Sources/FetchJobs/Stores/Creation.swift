/// The result of a creation, which may have an Idempotency-Key.
package enum Creation<Made: Sendable>: Sendable {
    case created(Made)
    /// The key was used for the same request before.
    case replayed(Made)
    /// The key was used for another request before, or the object that it made is gone.
    case conflict

    /// The same for a value that the made object stands for.
    package nonisolated(nonsending) func map<Other: Sendable>(
        _ transform: (Made) async throws -> Other
    ) async rethrows -> Creation<Other> {
        switch self {
        case .created(let made): .created(try await transform(made))
        case .replayed(let made): .replayed(try await transform(made))
        case .conflict: .conflict
        }
    }
}
