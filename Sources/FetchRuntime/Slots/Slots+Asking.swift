import DequeModule
import FetchJobs
import Synchronization

// Jobs that wait for answers of their delegates: they keep their connections, and others have their slots.

extension Slots {
    /// Whether no slot is given out any more.
    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// How many jobs have their answer, or are held no longer, and wait for a slot.
    package var returningCount: Int { state.withLock { $0.returning.count } }

    /// Gives the slot of a job to others until it has its answer.
    ///
    /// - Returns: Whether jobs wait for it.
    package func leaveToAsk(_ stop: StopSwitch) -> Bool {
        let (next, hasWaiting) = state.withLock { state in
            let hasSlot = stop.position.withLock { position in
                guard !position.hasLeft, !position.isAsking else { return false }
                position.isAsking = true
                return !position.isLent
            }
            if hasSlot { state.shares.leave(stop.tenant) }
            return (state.nextReturning(weight), state.callHeldBack(weight))
        }
        next.goOn()
        return hasWaiting
    }

    /// Takes a slot for a job that has its answer, as soon as one is free; one that is to stop does not wait for it.
    ///
    /// A thousand answers at once are not a thousand loads.
    package nonisolated(nonsending) func comeBackFromAsking(_ stop: StopSwitch) async {
        await withCheckedContinuation { continuation in
            let (isOver, next) = state.withLock { state -> (Bool, [Returning]) in
                guard stop.reason == nil, !state.isClosed else {
                    state.goBack(stop, weight)
                    return (true, [])
                }
                // A job that its client holds takes no slot now.
                let isFirst = state.returning.isEmpty || stop.position.withLock(\.isLent)
                if isFirst, state.returnIfFree(stop, weight) { return (true, []) }
                state.returning.append(Returning(stop: stop, continuation: continuation))
                // Those before it may wait for the share of another tenant alone.
                return (false, state.nextReturning(weight))
            }
            next.goOn()
            guard !isOver else { return continuation.resume() }
            stop.whenThrown { [weak self, weak stop] in if let stop { self?.letGoBack(stop) } }
        }
    }

    /// Has a job go on that is to stop: it ends by its switch.
    private func letGoBack(_ stop: StopSwitch) {
        let returning = state.withLock { state -> Returning? in
            let place = state.returning.firstIndex { $0.stop === stop && $0.continuation != nil }
            guard let place else { return nil }
            state.goBack(stop, weight)
            return state.returning.remove(at: place)
        }
        returning?.continuation?.resume()
    }
}

extension Slots.State {
    /// The jobs that get a slot now and go on, in their order; where a tenant has no room, its later jobs wait too.
    mutating func nextReturning(_ weight: (Tenant.ID) -> Int) -> [Slots.Returning] {
        var (next, full) = ([Slots.Returning](), Set<Tenant.ID>())
        var skipped: [Slots.Returning] = []
        while shares.free > 0, let first = returning.popFirst() {
            let tenant = first.stop.tenant
            if !full.contains(tenant), returnIfFree(first, weight) {
                next.append(first)
            } else {
                full.insert(tenant)
                skipped.append(first)
            }
        }
        returning.prepend(contentsOf: skipped)
        return next
    }

    private mutating func returnIfFree(_ returning: Slots.Returning, _ weight: (Tenant.ID) -> Int) -> Bool {
        guard returning.continuation == nil else { return returnIfFree(returning.stop, weight) }
        let isAsking = returning.stop.position.withLock(\.isAsking)
        guard isAsking || shares.room(of: returning.stop.tenant, weight: weight(returning.stop.tenant)) > 0
        else { return false }
        comeBack(returning.stop, weight)
        return true
    }

    /// - Returns: Whether the job goes on.
    fileprivate mutating func returnIfFree(_ stop: StopSwitch, _ weight: (Tenant.ID) -> Int) -> Bool {
        let isLent = stop.position.withLock(\.isLent)
        guard isLent || shares.room(of: stop.tenant, weight: weight(stop.tenant)) > 0 else { return false }
        goBack(stop, weight)
        return true
    }

    /// Takes a slot, even if none is free; one that its client holds takes it when that lets it go on.
    fileprivate mutating func goBack(_ stop: StopSwitch, _ weight: (Tenant.ID) -> Int) {
        let takesSlot = stop.position.withLock { position in
            guard !position.hasLeft, position.isAsking else { return false }
            position.isAsking = false
            return !position.isLent
        }
        if takesSlot { shares.take(for: stop.tenant, weight: weight(stop.tenant)) }
    }
}

extension [Slots.Returning] {
    /// They have their slots.
    func goOn() { for returning in self { returning.continuation?.resume() } }
}
