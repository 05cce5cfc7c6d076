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
        let query = try call.query(allowing: Self.filters.union(["session", "limit", "cursor"]))
        let filter = try await filter(query, of: tenant)
        let limit = try query.integer("limit", in: 1...Self.maximumAnswers, default: 25)
        let after = try query["cursor"].map { try Self.position($0) }
        let answers = try await cache.answers(filter, of: tenant, after: after, limit: limit + 1)
        let page = answers.prefix(limit)
        let next = answers.count > limit ? page.last.map { OpaqueText.write(CachePosition($0).text) } : nil
        var response = Response.json { writer in
            writer.member(
                "data",
                array: { writer in
                    for answer in page { writer.object { answer.write(&$0) } }
                }
            )
            writer.member("hasMore", next != nil)
            writer.member("nextCursor", next)
        }
        let text = Query.text((Self.filters.sorted() + ["session"]).map { ($0, query[$0]) })
        response.headers[.link] = next.map { "</v1/cache?limit=\(limit)\(text)&cursor=\($0)>; rel=\"next\"" }
        return response
    }

    private static func position(_ cursor: String) throws(Problem) -> CachePosition {
        let text = OpaqueText.read(cursor)
        guard let text, OpaqueText.write(text) == cursor, let position = CachePosition(text), position.text == text
        else { throw Problem(parameter: "cursor", "is not one that this list gave out") }
        return position
    }

    private func purge(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: Self.filters.union(["session"]))
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

    private static let filters: Set = ["url", "host", "prefix", "tag", "since"]

    /// One of the filters at most, for one session or for all.
    private func filter(_ query: Query, of tenant: Tenant.ID) async throws -> CacheFilter {
        let choice = try Self.choice(query)
        guard query["session"] != nil else { return CacheFilter(choice) }
        return CacheFilter(choice, in: try await sessions.address(query.session(), of: tenant).session)
    }

    private static func choice(_ query: Query) throws(Problem) -> CacheFilter.Choice {
        let named = query.names.filter { filters.contains($0) }
        guard named.count < 2 else { throw Problem(parameter: named[1], "does not go with \(named[0])") }
        if let text = query["url"] {
            guard let choice = CacheFilter.Choice(url: text) else {
                throw Problem(parameter: "url", "is not an http or https URL")
            }
            return choice
        }
        if let text = query["since"] {
            guard let time = Timestamp(rfc3339: text) else {
                throw Problem(parameter: "since", "must be a time as RFC 3339 writes it, such as 2026-11-21T10:52:00Z")
            }
            return .since(time)
        }
        if let host = query["host"] { return .host(host.lowercased()) }
        if let prefix = query["prefix"] { return .prefix(prefix) }
        return query["tag"].map { .tag($0) } ?? .all
    }
}
