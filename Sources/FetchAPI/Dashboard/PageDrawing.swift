import Hummingbird

/// Draws pages that take long, one after the other.
///
/// Whoever asks for many of them at once so takes one processor of a node at most, and leaves the others to jobs.
actor PageDrawing {
    func draw(_ page: @Sendable () -> Response) -> Response { page() }
}
