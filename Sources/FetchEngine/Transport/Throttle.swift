import EventLoop

/// Has a transfer wait for its places in the bandwidths that it shares, in one direction.
struct Throttle {
    /// Waiting ends to look again: the rate may be another by then.
    private static let patience = Duration.seconds(1)

    private let direction: Bandwidth.Direction
    /// How many bytes may move once all places have come.
    private var granted = 0
    private var admitted = 0
    private var places: [(bandwidth: Bandwidth, place: Double)] = []
    /// When to look again; nil while nothing waits.
    private(set) var lookAt: MonotonicTime?

    init(_ direction: Bandwidth.Direction) { self.direction = direction }

    /// Lets bytes move, or has them wait until ``look(at:)`` says that they may be asked for again.
    mutating func admit(_ count: Int, in bandwidths: [Bandwidth], at now: MonotonicTime) -> Bool {
        guard lookAt == nil else { return false }
        let more = count - granted
        if more > 0 {
            granted = count
            for bandwidth in bandwidths {
                let (place, wait) = bandwidth.take(more, direction, at: now)
                if wait > .zero { places.append((bandwidth, place)) }
            }
            guard look(at: now) else { return false }
        }
        granted -= count
        admitted = count
        return true
    }

    /// Keeps for the next time the bytes that were admitted last and have not moved.
    mutating func keep(_ count: Int) {
        granted += min(count, admitted)
        admitted = 0
    }

    func isDue(at now: MonotonicTime) -> Bool { lookAt.map { $0 <= now } ?? false }

    /// Whether nothing waits any more.
    mutating func look(at now: MonotonicTime) -> Bool {
        let direction = direction
        var longest = Duration.zero
        places.removeAll { bandwidth, place in
            let wait = bandwidth.wait(for: place, direction, at: now)
            longest = max(longest, wait)
            return wait == .zero
        }
        lookAt = places.isEmpty ? nil : now.advanced(by: min(longest, Self.patience))
        return places.isEmpty
    }
}
