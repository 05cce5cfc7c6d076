import FetchJobs
import HTTPTypes
import Hummingbird

/// The tenant's jobs in numbers.
struct StatisticsRoute: Sendable {
    static let maximumHours = 168

    let statistics: any StatisticsStore

    var routes: [Route] { [Route(.get, "/v1/stats", tenant: get)] }

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: ["hours"])
        let hours = try query.integer("hours", in: 1...Self.maximumHours, default: 24)
        // Whole hours, of which the last is under way.
        let hour: Int64 = 3_600_000_000
        let thisHour = Timestamp.now.microseconds / hour
        let start = Timestamp(microseconds: (thisHour - Int64(hours) + 1) * hour)
        let counts = try await statistics.statistics(of: tenant, since: start)
        return .json { counts.write(&$0) }
    }
}
