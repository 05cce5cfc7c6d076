import Synchronization

/// The name of a background session, held by one session of the process at a time.
struct BackgroundIdentifier {
    private static let held = Mutex<Set<String>>([])
    private let name: String

    /// - Throws: `backgroundSessionInUseByAnotherProcess`.
    init(_ name: String) throws(LoadError) {
        guard Self.held.withLock({ $0.insert(name).inserted }) else {
            throw LoadError(.backgroundSessionInUseByAnotherProcess, "A live session has this identifier.")
        }
        self.name = name
    }

    func release() { Self.held.withLock { _ = $0.remove(name) } }
}
