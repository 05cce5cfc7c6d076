/// Why a node takes no new work for now, of anybody or of one tenant; work that it has taken goes on.
package enum Overload: Sendable, Equatable, CaseIterable {
    /// The disk of its data is nearly full: there would be no room for the bodies of jobs.
    case storageFull
    /// Little memory is left.
    case memoryLow
    /// Hardly any is.
    case memoryExhausted
    /// The tenant's jobs wait for too long already.
    case queueOld

    /// - Parameters:
    ///   - diskFree: Which part of the disk is free; nil when that is unknown.
    ///   - memoryUsed: Which part of the memory that the process may use it uses; likewise.
    package init?(diskFree: Double?, memoryUsed: Double?) {
        switch (diskFree ?? 1, memoryUsed ?? 0) {
        case (_, 0.9...): self = .memoryExhausted
        case (..<0.05, _): self = .storageFull
        case (_, 0.8...): self = .memoryLow
        default: return nil
        }
    }
}
