import FetchJobs

/// The room that a courier has: in all, and for each endpoint, so that a dead receiver slows nobody else.
struct DeliveryPlaces {
    let count: Int
    let perEndpoint: Int
    private var underWay: [WebhookEndpoint.ID: Int] = [:]
    private var failingUnderWay = 0

    init(count: Int, perEndpoint: Int) {
        self.count = count
        self.perEndpoint = perEndpoint
    }

    /// What there is room for; nil when there is none.
    ///
    /// A quarter is kept for endpoints that take what they are sent: however many others there are, each of which holds
    /// its place until it has timed out, there is one free for those.
    var room: DeliveryRoom? {
        let free = count - underWay.values.reduce(0, +)
        guard free > 0 else { return nil }
        return DeliveryRoom(
            places: free,
            placesForFailing: max(0, count - max(1, count / 4) - failingUnderWay),
            placesPerEndpoint: perEndpoint,
            underWay: underWay
        )
    }

    mutating func take(_ delivery: WebhookDelivery) {
        underWay[delivery.endpoint, default: 0] += 1
        if delivery.endpointIsFailing { failingUnderWay += 1 }
    }

    mutating func leave(_ delivery: WebhookDelivery) {
        let left = (underWay[delivery.endpoint] ?? 1) - 1
        underWay[delivery.endpoint] = left > 0 ? left : nil
        if delivery.endpointIsFailing { failingUnderWay -= 1 }
    }
}
