import FetchJobs
import HTTPTypes
import Hummingbird

/// Single cached answers: putting one there, reading it and its body, and removing it.
struct CacheEntryRoutes: Sendable {
    let cache: any CacheStore
    let blobs: any BlobStore
    let sessions: KnownSessions

    var routes: [Route] {
        [
            Route(.post, "/v1/cache/entries", tenant: put).taking(.bytes),
            Route(.get, "/v1/cache/entries/{id}", tenant: get),
            Route(.delete, "/v1/cache/entries/{id}", tenant: remove),
            Route(.get, "/v1/cache/entries/{id}/body", tenant: body),
        ]
    }

    private func put(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let (json, _) = try await call.submission(upTo: JobRoutes.maximumBody)
        let submission = try CacheSubmission(json: json)
        try await sessions.requireStores(of: submission.session, tenant: tenant)
        switch try await cache.put(submission, of: tenant) {
        case .stored(let answer):
            var response = Self.response(answer, status: .created)
            response.headers[.location] = "/v1/cache/entries/\(answer.id)"
            return response
        case .tooLarge(let limit):
            throw Problem(.contentTooLarge, "The cache keeps bodies of up to \(limit) bytes.")
        }
    }

    private func get(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        Self.response(try await answer(call, tenant))
    }

    private static func response(_ answer: CachedAnswer, status: HTTPResponse.Status = .ok) -> Response {
        .json(status: status) { writer in
            answer.explain(&writer)
            writer.member("body", object: { $0.member("href", "/v1/cache/entries/\(answer.id)/body") })
        }
    }

    private func remove(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let answer = try await answer(call, tenant)
        // In its session alone: entries that others are about to store are theirs.
        var filter = CacheFilter(session: answer.session)
        filter.answer = answer.id
        guard try await cache.purge(filter, of: tenant) > 0 else { throw Self.notFound }
        return Response(status: .noContent)
    }

    /// The bytes as jobs are given them: a content coding is undone.
    private func body(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let answer = try await answer(call, tenant)
        guard let location = try await cache.body(of: answer, tenant: tenant) else { throw Self.notFound }
        return Response(
            status: .ok,
            headers: Representation.headers(type: answer.contentType, filename: nil),
            body: try await Representation.content(0..<answer.bytes, of: location, from: blobs)
        )
    }

    private func answer(_ call: Call, _ tenant: Tenant.ID) async throws -> CachedAnswer {
        _ = try call.query()
        guard let id = CachedAnswer.ID(call.parameter) else { throw Self.notFound }
        var filter = CacheFilter()
        filter.answer = id
        let answer = try await cache.answers(filter, of: tenant, after: nil, limit: 1).first
        guard let answer else { throw Self.notFound }
        return answer
    }

    private static let notFound = Problem(
        .notFound, "There is no cached answer with this id; one that was confirmed or replaced since has another.")
}
