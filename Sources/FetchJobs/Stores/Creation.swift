/// What became of a request to make something, which may have come with an Idempotency-Key.
package enum Creation<Made: Sendable>: Sendable {
    case created(Made)
    /// The key was used for the same request before.
    case replayed(Made)
    /// The key was used for another request before, or what it made is gone.
    case conflict
}
