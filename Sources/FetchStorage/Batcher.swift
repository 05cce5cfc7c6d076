import Postgres
import Synchronization

/// Gathers the calls that arrive while a statement is under way into the next statement.
///
/// A caller alone pays no delay; a thousand at once share a few commits. There is no task of its own: the first caller
/// leads, running the statement for all that have gathered, and hands the lead to the next one that waits. A statement
/// is not cancelled with the caller that leads, since others depend on it.
final class Batcher<Item: Sendable, Outcome: Sendable>: Sendable {
    private enum Signal {
        case lead
        case done(Result<[Outcome], any Error>)
    }

    /// A class, since to move a generic structure costs a look at its type's description each time.
    private final class Waiting: Sendable {
        let items: [Item]
        let continuation: CheckedContinuation<Signal, Never>

        init(items: [Item], continuation: CheckedContinuation<Signal, Never>) {
            self.items = items
            self.continuation = continuation
        }
    }

    private struct State {
        var leaders = 0
        var waiting: [Waiting] = []
        /// When the next statement may begin; nil for at once.
        var next: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let maximumItems: Int
    private let maximumLeaders: Int
    private let interval: Duration
    private let many: Int
    private let run: @Sendable ([Item]) async throws -> [Outcome]

    /// - Parameters:
    ///   - maximumItems: How many items one statement carries, unless one caller alone brings more.
    ///   - maximumLeaders: How many statements may be under way at once.
    ///   - interval: How long after one statement the next one begins at the earliest, so that some items gather.
    ///   - many: After a statement of fewer items the next one begins at once.
    ///   - run: Runs one statement; its outcomes are those of the items, one for one. When the database refuses it,
    ///     the items of each caller run in a statement of their own.
    init(
        maximumItems: Int,
        maximumLeaders: Int = 1,
        interval: Duration = .zero,
        many: Int = 1,
        run: @escaping @Sendable ([Item]) async throws -> [Outcome]
    ) {
        self.maximumItems = maximumItems
        self.maximumLeaders = maximumLeaders
        self.interval = interval
        self.many = many
        self.run = run
    }

    /// How many callers wait for the next statement.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Runs items as part of one statement, the next that starts; goes on where the caller is.
    nonisolated(nonsending) func submit(_ items: [Item]) async throws -> [Outcome] {
        let leadsAtOnce = state.withLock { state in
            guard state.leaders < maximumLeaders else { return false }
            state.leaders += 1
            return true
        }
        if leadsAtOnce { return try await lead(items) }
        let signal = await withCheckedContinuation { continuation in
            let mayLead = state.withLock { state in
                // The last leader may have left since, and then nothing would wake this one.
                guard state.leaders >= maximumLeaders else {
                    state.leaders += 1
                    return true
                }
                state.waiting.append(Waiting(items: items, continuation: continuation))
                return false
            }
            if mayLead { continuation.resume(returning: .lead) }
        }
        switch signal {
        case .lead: return try await lead(items)
        case .done(let result): return try result.get()
        }
    }

    /// Runs a statement for the leader's own items and all that wait, then passes the lead on.
    private nonisolated(nonsending) func lead(_ items: [Item]) async throws -> [Outcome] {
        if interval > .zero { await gather() }
        let followers = takeFollowers(room: maximumItems - items.count)
        var all = items
        for follower in followers { all.append(contentsOf: follower.items) }
        if interval > .zero {
            let next = all.count < many ? nil : ContinuousClock.now + interval
            state.withLock { $0.next = next }
        }
        let result = await outcome(of: all)
        guard case .failure(let error as PostgresError) = result, !followers.isEmpty,
            error.isRefusal || error.code == .shardUnavailable
        else {
            passLead()
            var start = items.count
            for follower in followers {
                let range = start..<(start + follower.items.count)
                start = range.upperBound
                follower.continuation.resume(returning: .done(result.map { Array($0[range]) }))
            }
            return Array(try result.get()[..<items.count])
        }
        // One of them is to blame: each on its own shows which, and spares the others.
        let own = await outcome(of: items)
        for follower in followers {
            follower.continuation.resume(returning: .done(await outcome(of: follower.items)))
        }
        passLead()
        return try own.get()
    }

    /// Waits until the next statement may begin; callers gather meanwhile.
    private nonisolated(nonsending) func gather() async {
        guard let next = state.withLock({ $0.next }), next > .now else { return }
        try? await Task.sleep(until: next)
    }

    private nonisolated(nonsending) func outcome(of items: [Item]) async -> Result<[Outcome], any Error> {
        do { return .success(try await run(items)) } catch { return .failure(error) }
    }

    private func takeFollowers(room: Int) -> [Waiting] {
        state.withLock { state in
            var room = room
            var count = 0
            for waiting in state.waiting {
                guard waiting.items.count <= room else { break }
                room -= waiting.items.count
                count += 1
            }
            defer { state.waiting.removeFirst(count) }
            return Array(state.waiting[..<count])
        }
    }

    private func passLead() {
        let next = state.withLock { state -> Waiting? in
            guard let next = state.waiting.first else {
                state.leaders -= 1
                return nil
            }
            state.waiting.removeFirst()
            return next
        }
        next?.continuation.resume(returning: .lead)
    }
}
