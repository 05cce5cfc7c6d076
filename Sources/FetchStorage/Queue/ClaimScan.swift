import FetchJobs
import Postgres
import Synchronization

/// The waiting jobs as this node knows them, from one claim to the next.
final class ClaimScan: Sendable {
    /// The limits of one statement that claims.
    struct Step {
        let limit: Int
        let shares: [WeightedRoundRobin.Share]
        let gaps: [WeightedRoundRobin.Gap]
        let cursor: [ClaimCursor.End]
        let paused: Set<Tenant.ID>
        /// How many a tenant may have that is found without being known.
        let room: ClaimRoom
    }

    /// One claim, of one statement or more.
    struct Round {
        private let paused: Set<Tenant.ID>
        private var room: ClaimRoom
        private var step: Step
        /// The tenants whose waiting jobs others hold for now; they are not looked at twice.
        private var dry: Set<Tenant.ID> = []
        fileprivate private(set) var turns: WeightedRoundRobin
        fileprivate private(set) var cursor: ClaimCursor
        /// Whether nothing is stepped over.
        fileprivate private(set) var isWhole: Bool
        /// How long the last step that stepped over rows has looked for jobs, and the longest one that did not.
        fileprivate private(set) var usual: Duration?
        fileprivate private(set) var longest = Duration.zero
        /// How long to wait before nothing need be stepped over.
        private let wait: Duration

        /// Nothing waits any more, as far as may be looked.
        private(set) var isOver = false
        /// Jobs that came late may wait, to be looked for after this time.
        private(set) var nextScan: Duration?

        /// Tenants that may have more jobs waiting than there was room for.
        private(set) var full: Set<Tenant.ID>

        fileprivate init(_ state: inout State, without paused: Set<Tenant.ID>, room: ClaimRoom) {
            let now = ContinuousClock.now
            self.paused = paused
            self.room = room
            full = Set(room.ofTenants.lazy.filter { $0.value <= 0 }.map(\.key))
            turns = state.turns
            turns.remove(paused.union(full))
            if let time = state.earliestLate.take() { state.cursor.moveBack(to: time) }
            cursor = state.cursor
            wait = state.whole.wait(at: now)
            // Without it, a job that came late behind a queue that never ends would wait for ever.
            let isDue = wait <= .zero && now >= state.wholeAt + .seconds(1)
            isWhole = isDue || cursor.ends.isEmpty
            usual = state.usual
            step = Step(limit: 0, shares: [], gaps: [], cursor: [], paused: paused, room: room)
        }

        mutating func next(_ limit: Int) -> Step {
            let shares = turns.next(limit).map { $0.limited(to: room.of($0.tenant)) }
            step = Step(
                limit: limit, shares: shares, gaps: turns.gaps(behind: shares),
                cursor: isWhole ? [] : cursor.ends, paused: paused.union(full), room: room)
            return step
        }

        mutating func took(_ rows: Rows) throws {
            // By the database: to put jobs to their gates, or to wait for a busy machine, takes long after any look.
            let duration = try rows.first?.decode(Duration.self, at: 21) ?? .zero
            if isWhole { longest = max(longest, duration) } else { usual = duration }
            var taken: [Tenant.ID: WeightedRoundRobin.Taken] = [:]
            for row in rows {
                guard let job = try row.decode(Job.ID?.self, at: 0) else { continue }
                let tenant = try row.decode(Tenant.ID.self, at: 1)
                cursor.take(
                    .init(tenant: tenant, rank: try row.decode(at: 4), runAt: try row.decode(at: 5), job: job))
                taken[tenant, default: .init()].count += 1
                taken[tenant]?.weight = Int(try row.decode(Int16.self, at: 12))
                // One that waits at a gate now takes no room.
                if try row.decode(String?.self, at: 14) == nil { room.take(1, of: tenant) }
            }
            var others = try rows.first?.decode([Tenant.ID].self, at: 13) ?? []
            others.removeAll { step.paused.contains($0) }
            turns.add(others.filter { !dry.contains($0) })
            var shares = step.shares
            if shares.isEmpty, let first = others.min(by: { $0.rawValue < $1.rawValue }) {
                shares = [WeightedRoundRobin.Share(tenant: first, count: min(step.limit, step.room.of(first)))]
            }
            turns.took(taken, of: shares)
            for share in shares where !turns.contains(share.tenant) { dry.insert(share.tenant) }
            full.formUnion(taken.keys.filter { room.of($0) <= 0 })
            turns.remove(full)
            if turns.isEmpty { lookAtAll() }
        }

        /// Has the next step start at the head of the queue, if this one did not and it may.
        private mutating func lookAtAll() {
            if isWhole {
                isOver = true
            } else if wait > .zero {
                (isOver, nextScan) = (true, wait)
            } else {
                isWhole = true
                dry = []
            }
        }
    }

    fileprivate struct State {
        var turns = WeightedRoundRobin()
        var cursor = ClaimCursor()
        /// The time of the first job that waits since the last claim began, though its time may be before the cursor.
        var earliestLate: Timestamp?
        var usual: Duration?
        var whole = FullScanBudget()
        /// When nothing was stepped over the last time.
        var wholeAt = ContinuousClock.now
        var heartbeat = FullScanBudget()
    }

    private let state = Mutex(State())

    func begin(without paused: Set<Tenant.ID>, room: ClaimRoom) -> Round {
        state.withLock { Round(&$0, without: paused, room: room) }
    }

    /// Jobs wait now that were due at this time or later, while jobs of later times have been claimed.
    func noteLate(from time: Timestamp) {
        state.withLock { $0.earliestLate = min($0.earliestLate ?? time, time) }
    }

    func end(_ round: Round) {
        state.withLock { state in
            state.turns = round.turns
            state.cursor = round.cursor
            state.usual = round.usual
            guard round.isWhole else { return }
            state.wholeAt = .now
            state.whole.note(max(.zero, round.longest - (round.usual ?? round.longest)), at: state.wholeAt)
        }
    }

    /// A look whether anything waits.
    struct Look {
        let cursor: [ClaimCursor.End]
        fileprivate let start: ContinuousClock.Instant
    }

    func beginLook() -> Look {
        let now = ContinuousClock.now
        return state.withLock { state in
            Look(cursor: state.heartbeat.wait(at: now) > .zero ? state.cursor.ends : [], start: now)
        }
    }

    func end(_ look: Look) {
        guard look.cursor.isEmpty else { return }
        let end = ContinuousClock.now
        state.withLock { $0.heartbeat.note(look.start.duration(to: end), at: end) }
    }
}
