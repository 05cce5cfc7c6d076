import EventLoop

// Waiting for another load that fetches the same, in this process or in another one.
extension Load {
    /// Waits until no other process fetches the response for this load, which may be stored then.
    ///
    /// A turn costs every load a call, and serves only what is stored, so an origin whose answers cannot be is asked
    /// without one.
    func turn(
        _ answer: CacheMachine.Answer, _ lease: CacheLease, _ cache: any ResponseCache, _ visit: CacheVisit,
        on loop: isolated TransferLoop
    ) async throws(LoadError) -> CacheMachine.Answer {
        guard let shared = cache as? any SharedResponseCache, shared.isShared,
            lease.mayStore(from: visit.machine.request.url.origin)
        else { return answer }
        let (key, limit, reason) = (visit.machine.key, patience, visit.machine.status.forward)
        let turn = try await self.answer(on: loop) { await shared.turn(for: key, within: limit) }
        lease.hold(turn)
        let entries = try await entries(in: cache, visit, on: loop)
        let now = UnixTime.now
        let later = visit.machine.lookedUp(entries, now: now)
        guard case .serve = later else { return later }
        return visit.machine.lookedUp(entries, afterWaiting: reason, now: now)
    }

    /// How long another load is waited for: at most the time in which no byte may move.
    private var patience: Duration {
        currentRequest.timeoutInterval ?? configuration.timeoutIntervalForRequest
    }

    /// Waits until another load has stored the response for this one, or will not store it.
    func wait(for flight: CacheFlight, on loop: isolated TransferLoop) async {
        let interval = patience
        var end = MonotonicTime.now.advanced(by: interval)
        if let deadline { end = min(end, deadline) }
        flight.watch { [weak self] in
            guard let load = self else { return }
            load.state.loop.perform { load.endPause() }
        }
        let timer = LoopTimer { [self] in endPause() }
        while cancellation == nil, !flight.isOver {
            let limit = flight.limit(end)
            guard MonotonicTime.now < limit else { break }
            state.loop.set(timer, for: limit)
            await pause(on: loop) { !flight.isOver && MonotonicTime.now < flight.limit(end) }
        }
        state.loop.set(timer, for: nil)
    }
}
