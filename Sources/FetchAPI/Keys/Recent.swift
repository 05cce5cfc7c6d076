/// Recent results by what was asked for; a bounded number.
struct Recent<Key: Hashable, Value> {
    private var entries: [Key: (value: Value, since: ContinuousClock.Instant)] = [:]
    let lifetime: Duration
    let capacity: Int

    init(lifetime: Duration, capacity: Int) {
        self.lifetime = lifetime
        self.capacity = capacity
    }

    subscript(key: Key, now: ContinuousClock.Instant) -> Value? {
        entries[key].flatMap { now - $0.since < lifetime ? $0.value : nil }
    }

    mutating func note(_ key: Key, _ value: Value, _ now: ContinuousClock.Instant) {
        if entries.count >= capacity { entries = entries.filter { now - $0.value.since < lifetime } }
        if entries.count >= capacity { entries.removeAll() }
        entries[key] = (value, now)
    }

    mutating func forget(_ key: Key) { entries[key] = nil }
}
