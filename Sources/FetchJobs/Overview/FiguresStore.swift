/// What people look at: how the jobs of a tenant stand and went, and how the service does.
///
/// Every answer takes a bounded time, however many jobs there are: a count ends at ``BoundedCount/limit``, and times
/// and causes are those of a sample of the newest jobs.
package protocol FiguresStore: Sendable {
    /// How the jobs of a tenant stand now, and how they went in the last day.
    func figures(of tenant: Tenant.ID) async throws(StoreError) -> JobFigures

    /// The tenant's newest jobs of the last day that have ended, the newest first, as far as a sample goes.
    ///
    /// - Parameter withFlows: Whether it tells the flows of the jobs, which takes longer.
    func sample(of tenant: Tenant.ID, withFlows: Bool) async throws(StoreError) -> [SampledJob]

    /// The nodes that live, and those whose lease ran out in the last hour; the youngest first.
    func nodes() async throws(StoreError) -> [NodeFigures]

    /// The database, for operators.
    func database() async throws(StoreError) -> DatabaseFigures
}

/// A number of rows, counted up to a bound.
package struct BoundedCount: Sendable, Equatable, ExpressibleByIntegerLiteral {
    /// Up to how many are counted.
    package static let limit: Int64 = 10_000

    package let value: Int64
    /// Whether there may be more than were counted.
    package let isLowerBound: Bool

    /// - Parameters:
    ///   - found: How many there are, of as many as were looked at.
    ///   - seen: How many were looked at, up to one more than ``limit``; nil for those that were found.
    package init(_ found: Int64, of seen: Int64? = nil) {
        value = min(found, Self.limit)
        isLowerBound = (seen ?? found) > Self.limit
    }

    package init(integerLiteral value: Int64) { self.init(value) }
}
