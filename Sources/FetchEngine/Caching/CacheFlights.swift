import EventLoop
import Synchronization

/// The loads for whose responses other loads wait: one for each cache and key in the process.
final class CacheFlights: Sendable {
    static let shared = CacheFlights()

    /// The part of a load that needs a response which is not stored.
    enum Part {
        /// Fetch it; other loads wait until the lease is gone.
        case lead(CacheLease)
        /// Wait for the one that fetches it.
        case follow(CacheFlight)
        /// Fetch it for itself: the last response could not be stored, so waiting would be of no use.
        case alone
    }

    fileprivate struct Key: Hashable {
        let cache: ObjectIdentifier
        let key: CacheKey
    }

    fileprivate struct Place: Hashable {
        let cache: ObjectIdentifier
        let origin: URLRecord.Origin
    }

    private struct State {
        var flights: [Key: CacheFlight] = [:]
        /// Until when answers are expected not to be stored.
        var passes: [Key: MonotonicTime] = [:]
        /// How many answers of an origin could not be stored since the last one that could.
        var refusals: [Place: Int] = [:]
    }

    private static let passTime: Duration = .seconds(60)
    private static let passLimit = 1000
    /// After so many answers in succession that could not be stored, no other process is asked for a turn.
    static let refusalLimit = 16
    private let state = Mutex(State())

    func join(_ cache: any ResponseCache, _ key: CacheKey, now: MonotonicTime) -> Part {
        let key = Key(cache: ObjectIdentifier(cache), key: key)
        return state.withLock { state in
            if let flight = state.flights[key] { return .follow(flight) }
            if let end = state.passes[key] {
                guard end < now else { return .alone }
                state.passes[key] = nil
            }
            let flight = CacheFlight()
            state.flights[key] = flight
            return .lead(CacheLease(flight: flight, flights: self, key: key))
        }
    }

    /// How many loads are under way for a cache.
    func count(of cache: any ResponseCache) -> Int {
        state.withLock { $0.flights.keys.count { $0.cache == ObjectIdentifier(cache) } }
    }

    fileprivate func end(_ flight: CacheFlight, _ key: Key, passing time: MonotonicTime?) {
        state.withLock { state in
            state.flights[key] = nil
            guard let time else { return }
            if state.passes.count >= Self.passLimit { state.passes.removeAll() }
            state.passes[key] = time.advanced(by: Self.passTime)
        }
        flight.end()
    }

    fileprivate func mayStore(from place: Place) -> Bool {
        state.withLock { $0.refusals[place, default: 0] < Self.refusalLimit }
    }

    fileprivate func note(isStorable: Bool, from place: Place) {
        state.withLock { state in
            guard !isStorable else { return state.refusals[place] = nil }
            if state.refusals.count >= Self.passLimit { state.refusals.removeAll() }
            state.refusals[place, default: 0] += 1
        }
    }

    /// The duty to fetch something that others wait for; given back with the last reference.
    final class CacheLease: Sendable {
        let flight: CacheFlight
        private let flights: CacheFlights
        private let key: Key
        private let passTime = Mutex<MonotonicTime?>(nil)
        private let turn = Mutex<(any CacheTurn)?>(nil)
        /// Where the answer comes from, when it is of use to know whether that can be stored.
        private let place = Mutex<Place?>(nil)

        fileprivate init(flight: CacheFlight, flights: CacheFlights, key: Key) {
            self.flight = flight
            self.flights = flights
            self.key = key
        }

        deinit { flights.end(flight, key, passing: passTime.withLock { $0 }) }

        /// Keeps other processes that share the cache waiting as long as the lease is held.
        func hold(_ turn: (any CacheTurn)?) { self.turn.withLock { $0 = turn } }

        /// Whether the answer may be one to store, which others share then, as far as those before it from the same origin
        /// tell; what is noted of this one counts among them from now on.
        func mayStore(from origin: URLRecord.Origin) -> Bool {
            let place = Place(cache: key.cache, origin: origin)
            self.place.withLock { $0 = place }
            return flights.mayStore(from: place)
        }

        /// Notes that the answer cannot be stored, so that those who come next do not wait.
        func noteUnstorable(at now: MonotonicTime) {
            passTime.withLock { $0 = now }
            note(isStorable: false)
        }

        /// Notes that the head of the answer lets it be stored.
        func noteStorable() { note(isStorable: true) }

        private func note(isStorable: Bool) {
            guard let place = place.withLock({ $0 }) else { return }
            flights.note(isStorable: isStorable, from: place)
        }
    }
}

/// A load that others wait for.
final class CacheFlight: Sendable {
    private struct State {
        var isOver = false
        /// When its answer last came nearer, once it has begun to come.
        var lastProgress: MonotonicTime?
        var watchers: [@Sendable () -> Void] = []
    }

    /// An answer that has begun to come and then stands still, for its reader is slow for example, is not waited for.
    private static let patience: Duration = .seconds(2)
    private let state = Mutex(State())

    var isOver: Bool { state.withLock { $0.isOver } }

    /// Until when to wait, as things are.
    func limit(_ end: MonotonicTime) -> MonotonicTime {
        guard let progress = state.withLock({ $0.lastProgress }) else { return end }
        return min(end, progress.advanced(by: Self.patience))
    }

    /// Calls when it is over, at once if it is already; and when the time to wait becomes shorter.
    func watch(_ watcher: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            if !state.isOver { state.watchers.append(watcher) }
            return state.isOver
        }
        if isOver { watcher() }
    }

    func noteProgress(at now: MonotonicTime) {
        let watchers = state.withLock { state in
            defer { state.lastProgress = now }
            return state.lastProgress == nil ? state.watchers : []
        }
        for watcher in watchers { watcher() }
    }

    fileprivate func end() {
        let watchers = state.withLock { state in
            state.isOver = true
            defer { state.watchers = [] }
            return state.watchers
        }
        for watcher in watchers { watcher() }
    }
}

typealias CacheLease = CacheFlights.CacheLease
