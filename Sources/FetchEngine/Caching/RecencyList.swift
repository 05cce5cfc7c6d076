/// Keys in the order of their last use, with the cost of each.
///
/// Every operation takes the same time for any number of keys: the order is a list through the slots of an array.
struct RecencyList<Key: Hashable> {
    private struct Slot {
        var key: Key?
        var cost: Int64
        /// Towards the one used before.
        var older: Int
        /// Towards the one used after.
        var newer: Int
    }

    private static var none: Int { -1 }
    private var slots: [Slot] = []
    private var places: [Key: Int] = [:]
    private var free: [Int] = []
    private var oldestPlace = none
    private var newestPlace = none

    /// The sum of all costs.
    private(set) var cost: Int64 = 0

    var count: Int { places.count }

    /// The key that was not used for longest.
    var oldest: Key? { oldestPlace == Self.none ? nil : slots[oldestPlace].key }

    func contains(_ key: Key) -> Bool { places[key] != nil }

    /// Notes a use of a key that is there.
    mutating func use(_ key: Key) {
        guard let place = places[key], place != newestPlace else { return }
        unlink(place)
        linkNewest(place)
    }

    /// Adds a key, as used last, or changes its cost.
    mutating func set(_ key: Key, cost: Int64) {
        remove(key)
        let slot = Slot(key: key, cost: cost, older: Self.none, newer: Self.none)
        let place: Int
        if let reused = free.popLast() {
            place = reused
            slots[place] = slot
        } else {
            place = slots.count
            slots.append(slot)
        }
        places[key] = place
        self.cost += cost
        linkNewest(place)
    }

    mutating func remove(_ key: Key) {
        guard let place = places.removeValue(forKey: key) else { return }
        cost -= slots[place].cost
        unlink(place)
        slots[place].key = nil
        free.append(place)
    }

    mutating func removeAll() { self = RecencyList() }

    private mutating func linkNewest(_ place: Int) {
        slots[place].older = newestPlace
        slots[place].newer = Self.none
        if newestPlace != Self.none { slots[newestPlace].newer = place }
        newestPlace = place
        if oldestPlace == Self.none { oldestPlace = place }
    }

    private mutating func unlink(_ place: Int) {
        let (older, newer) = (slots[place].older, slots[place].newer)
        if older == Self.none { oldestPlace = newer } else { slots[older].newer = newer }
        if newer == Self.none { newestPlace = older } else { slots[newer].older = older }
    }
}
