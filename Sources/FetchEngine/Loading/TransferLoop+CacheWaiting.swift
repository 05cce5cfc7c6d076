import EventLoop

// Waiting for another load that fetches the same, in this process or in another one.
extension TransferLoop {
    /// Waits until no other process fetches what this load is to fetch, which may be stored then.
    func turn(
        _ answer: CacheMachine.Answer, _ lease: CacheLease, _ cache: any ResponseCache, _ visit: inout CacheVisit
    ) async throws(LoadError) -> CacheMachine.Answer {
        guard let shared = cache as? any SharedResponseCache, shared.isShared else { return answer }
        let (key, limit, reason) = (visit.machine.key, patience(of: visit.task), visit.machine.status.forward)
        let turn = try await visit.task.load.answer(isolation: self) { await shared.turn(for: key, within: limit) }
        lease.hold(turn)
        let entries = try await entries(in: cache, &visit)
        let now = UnixTime.now
        let later = visit.machine.found(entries, now: now)
        guard case .serve = later else { return later }
        return visit.machine.found(entries, afterWaiting: reason, now: now)
    }

    /// How long another load is waited for: no longer than no byte may move either way.
    private func patience(of task: SessionTask) -> Duration {
        task.currentRequest.timeoutInterval ?? task.shared.value.timeoutIntervalForRequest
    }

    /// Waits until another load has stored what this one wants, or until it is in vain.
    func wait(for flight: CacheFlight, _ task: SessionTask) async {
        let load = task.load
        let interval = patience(of: task)
        var end = MonotonicTime.now.advanced(by: interval)
        if let deadline = load.deadline { end = min(end, deadline) }
        flight.watch { [weak load] in
            guard let load else { return }
            load.loop.perform { load.endPause() }
        }
        let timer = LoopTimer { load.endPause() }
        while load.cancellation == nil, !flight.isOver {
            let limit = flight.limit(end)
            guard MonotonicTime.now < limit else { break }
            load.loop.set(timer, for: limit)
            await load.pause(isolation: self) { !flight.isOver && MonotonicTime.now < flight.limit(end) }
        }
        load.loop.set(timer, for: nil)
    }
}
