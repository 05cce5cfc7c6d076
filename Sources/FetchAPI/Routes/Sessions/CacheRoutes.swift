import FetchJobs
import HTTPTypes
import Hummingbird

/// Listing, explaining and purging cached answers.
struct CacheRoutes: Sendable {
    static let maximumAnswers = 100

    let cache: any CacheStore
    let sessions: KnownSessions

    var routes: [Route] {
        [
            Route(.get, "/v1/cache", tenant: list),
            Route(.delete, "/v1/cache", tenant: purge),
            Route(.get, "/v1/cache/explain", tenant: explain),
        ]
    }

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: Self.filters.union(["limit", "cursor"]))
        let filter = try await filter(query, of: tenant)
        let limit = try query.integer("limit", in: 1...Self.maximumAnswers, default: 25)
        let after = try query["cursor"].map { try Self.position($0) }
        let answers = try await cache.answers(filter, of: tenant, after: after, limit: limit + 1)
        return .page(
            answers, limit: limit, of: "/v1/cache", Query.text(Self.filters.sorted().map { ($0, query[$0]) })
        ) {
            OpaqueText.write(CachePosition($0).text)
        } write: {
            $0.write(&$1)
        }
    }

    private static func position(_ cursor: String) throws(Problem) -> CachePosition {
        let text = OpaqueText.read(cursor)
        guard let text, OpaqueText.write(text) == cursor, let position = CachePosition(text), position.text == text
        else { throw Problem(parameter: "cursor", "is not one that this list gave out") }
        return position
    }

    private func purge(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: Self.filters.union(["all"]))
        try query.requireFilter(Self.filters)
        let count = try await cache.purge(try await filter(query, of: tenant), of: tenant)
        return .json { $0.member("removed", count) }
    }

    private func explain(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: ["url", "session"])
        guard query["url"] != nil else { throw Problem(parameter: "url", "is required") }
        let answers = try await cache.answers(
            try await filter(query, of: tenant), of: tenant, after: nil, limit: Self.maximumAnswers)
        return .json { writer in
            writer.member(
                "answers",
                array: { writer in
                    for answer in answers { writer.object { answer.explain(&$0) } }
                }
            )
        }
    }

    // MARK: Filters

    private static let filters: Set = ["session", "url", "host", "prefix", "tag", "since"]

    private func filter(_ query: Query, of tenant: Tenant.ID) async throws -> CacheFilter {
        var filter = CacheFilter()
        if query["session"] != nil { filter.session = try await sessions.address(query.session(), of: tenant).session }
        filter.url = try query["url"].map { try Self.url($0) }
        filter.host = query["host"]?.lowercased()
        filter.prefix = query["prefix"]
        filter.tag = query["tag"]
        filter.since = try query.time("since")
        return filter
    }

    private static func url(_ text: String) throws(Problem) -> String {
        guard let url = CacheFilter.canonicalURL(text) else {
            throw Problem(parameter: "url", "is not an http or https URL")
        }
        return url
    }
}
