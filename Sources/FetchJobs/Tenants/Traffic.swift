import FetchEngine

/// What jobs have moved: the heads and bodies of their requests and responses, as they crossed the network.
package struct Traffic: Sendable, Equatable {
    package var sentBytes: Int64
    package var receivedBytes: Int64

    package init(sentBytes: Int64 = 0, receivedBytes: Int64 = 0) {
        self.sentBytes = sentBytes
        self.receivedBytes = receivedBytes
    }

    /// In both directions.
    package var bytes: Int64 { sentBytes + receivedBytes }

    package static func + (left: Traffic, right: Traffic) -> Traffic {
        Traffic(
            sentBytes: left.sentBytes + right.sentBytes, receivedBytes: left.receivedBytes + right.receivedBytes)
    }
}

/// What tenants have moved on the present day of UTC, on all nodes.
package struct TrafficOfDay: Sendable {
    /// When the next day begins.
    package let end: Timestamp
    package let ofTenants: [Tenant.ID: Traffic]

    package init(end: Timestamp, ofTenants: [Tenant.ID: Traffic]) {
        self.end = end
        self.ofTenants = ofTenants
    }
}

/// Where it is counted what jobs have moved.
package protocol TrafficStore: Sendable {
    /// Adds what jobs of this node have moved to what they had on the present day.
    ///
    /// - Returns: What the asked tenants have on the day then.
    func add(
        _ traffic: [Tenant.ID: Traffic], reading asked: Set<Tenant.ID>
    ) async throws(StoreError) -> TrafficOfDay
}
