import FetchJobs

/// The places of questions of parked loads, of which so many are asked at once.
///
/// A tenant may have as many as it leaves free: whoever comes next finds one, however many endpoints hold theirs until
/// they time out.
struct AskingPlaces {
    private var taken: [Tenant.ID: Int] = [:]
    private var free: Int

    init(count: Int) { free = count }

    var isFull: Bool { free == 0 }

    /// - Returns: false when the tenant has its share.
    mutating func take(for tenant: Tenant.ID) -> Bool {
        let own = taken[tenant, default: 0]
        guard own < free else { return false }
        taken[tenant] = own + 1
        free -= 1
        return true
    }

    mutating func leave(_ tenant: Tenant.ID) {
        guard let own = taken[tenant] else { return }
        taken[tenant] = own > 1 ? own - 1 : nil
        free += 1
    }
}
