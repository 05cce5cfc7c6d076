import Synchronization

/// The answers that a session remembers, in the memory of a node.
///
/// They are read again when a job shows that there is something new, as the session's cookies are.
package final class AnswerMemory: Sendable {
    private struct State {
        var answers: [RememberedAnswer] = []
        var book = RuleBook(job: [], session: [])
        /// The version that is in memory; at first that of a session which never remembered anything.
        var known: Int64 = 0
        /// The newest version that there is, as far as this node has heard.
        var newest: Int64 = 0
    }

    private let read: @Sendable () async throws -> (version: Int64, answers: [RememberedAnswer])
    private let onUse: @Sendable (Question.Kind) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - onUse: Hears of each answer that is given again.
    ///   - read: The answers that there are, the newest first, and the version that this is.
    package init(
        onUse: @escaping @Sendable (Question.Kind) -> Void = { _ in },
        read: @escaping @Sendable () async throws -> (version: Int64, answers: [RememberedAnswer])
    ) {
        self.onUse = onUse
        self.read = read
    }

    /// Answers later questions from this version of the memory, or a newer one.
    package func require(_ version: Int64) { state.withLock { $0.newest = max($0.newest, version) } }

    /// Whether the newest version that this node has heard of has been read.
    package var isCurrent: Bool { state.withLock { $0.known >= $0.newest } }

    /// Reads new answers, if there are any.
    ///
    /// - Throws: When it cannot be read: nothing is remembered until it is.
    package func catchUp() async throws {
        guard !isCurrent else { return }
        let (version, answers) = try await read()
        state.withLock { state in
            guard version > state.known else { return }
            state.answers = answers
            state.book = RuleBook(job: [], session: answers.map(\.rule))
            state.known = version
            state.newest = max(state.newest, version)
        }
    }

    /// The rules of the answers.
    package var rules: RuleBook { state.withLock { $0.book } }

    /// The answer that is given again to a question; nil where none is, or it is not known yet.
    package func answer(to question: Question, at now: Timestamp = .now) -> RememberedAnswer? {
        state.withLock { state in state.known < state.newest ? nil : state.answers.match(question, at: now) }
    }

    /// An answer has been given again.
    package func noteUse(for kind: Question.Kind) { onUse(kind) }
}
