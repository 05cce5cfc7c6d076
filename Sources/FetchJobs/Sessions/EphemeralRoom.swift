/// What a node has for ephemeral sessions, of which a tenant may have as much as it leaves free.
package enum EphemeralRoom: Sendable, Equatable {
    /// How many sessions there may be.
    case sessions(Int)
    /// How many of their jobs may be not final.
    case jobs(Int)
    /// How many bytes they may have in memory.
    case bytes(Int)
}
