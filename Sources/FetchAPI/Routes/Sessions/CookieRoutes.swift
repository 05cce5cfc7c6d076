import FetchJobs
import HTTPTypes
import Hummingbird
import NIOCore

/// Reading, setting and removing the cookies of sessions.
struct CookieRoutes: Sendable {
    static let fileType = "text/plain"

    let cookies: any CookieCatalog
    let sessions: KnownSessions

    var routes: [Route] {
        [
            Route(.get, "/v1/cookies", tenant: list),
            Route(.post, "/v1/cookies", tenant: set),
            Route(.delete, "/v1/cookies", tenant: remove),
            Route(.get, "/v1/cookies/export", tenant: export),
            Route(.post, "/v1/cookies/import", tenant: importFile),
            Route(.post, "/v1/cookies/parse", tenant: parse),
        ]
    }

    // MARK: Read

    private func list(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: CookieQuery.parameters.union(["limit", "cursor"]))
        let request = try CookieQuery(query)
        let limit = try query.integer("limit", in: 1...100, default: 25)
        let after = try query["cursor"].map { try Self.position($0) }
        let all = try await cookies.cookies(of: sessions.address(request.session, of: tenant))
            .filter(request.filter.includes)
            .map { (CookiePosition($0), $0) }.sorted { $0.0 < $1.0 }
            .filter { position, _ in after.map { position > $0 } ?? true }
        return .page(all, limit: limit, of: "/v1/cookies", request.text) {
            OpaqueText.write($0.0.text)
        } write: {
            $0.1.write(&$1)
        }
    }

    private static func position(_ cursor: String) throws(Problem) -> CookiePosition {
        let text = OpaqueText.read(cursor)
        guard let text, OpaqueText.write(text) == cursor, let position = CookiePosition(text) else {
            throw Problem(parameter: "cursor", "is not one that this list gave out")
        }
        return position
    }

    /// The meaning of `Set-Cookie` lines; stores nothing.
    private func parse(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let (json, _) = try await call.submission(upTo: JobRoutes.maximumBody)
        let reading = try CookieReading(json: json)
        return .json { reading.write(&$0) }
    }

    private func export(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let request = try CookieQuery(try call.query(allowing: CookieQuery.parameters))
        let matches = try await cookies.cookies(of: sessions.address(request.session, of: tenant)).filter(
            request.filter.includes)
        return Response(
            status: .ok,
            headers: [
                .contentType: Self.fileType, .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
                .contentDisposition: "attachment; filename=\"cookies.txt\"",
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: CookieFile.bytes(of: matches)))
        )
    }

    // MARK: Write

    private func set(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let (json, _) = try await call.submission(upTo: JobRoutes.maximumBody)
        let submission = try CookieSubmission(json: json)
        try await sessions.requireStores(of: submission.session, tenant: tenant)
        try await cookies.set(submission.cookies, in: SessionAddress(tenant: tenant, session: submission.session))
        return .json { $0.member("set", submission.cookies.count) }
    }

    private func importFile(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let request = try CookieQuery(try call.query(allowing: ["session"]))
        try call.requireContent(Self.fileType)
        let body = try await call.body(upTo: JobRoutes.maximumBody)
        let file = CookieFile(reading: Array(body.readableBytesView))
        guard file.cookies.count <= CookieFile.maximumCount else {
            throw Problem(.contentTooLarge, "The file has more than \(CookieFile.maximumCount) cookies.")
        }
        try await cookies.set(file.cookies, in: sessions.address(request.session, of: tenant))
        return .json { writer in
            writer.member("set", file.cookies.count)
            writer.member("rejectedLines", array: { writer in file.rejectedLines.forEach { writer.value($0) } })
        }
    }

    private func remove(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        let query = try call.query(allowing: CookieQuery.parameters.union(["all"]))
        try query.requireFilter(CookieQuery.parameters)
        let request = try CookieQuery(query)
        let session = try await sessions.address(request.session, of: tenant)
        let matches = try await cookies.cookies(of: session).filter(request.filter.includes)
        if !matches.isEmpty { try await cookies.remove(matches, from: session) }
        return .json { $0.member("removed", matches.count) }
    }
}

/// The session and the filter of cookies in the query of a request.
private struct CookieQuery {
    static let parameters: Set = ["session", "domain", "name"]

    let session: TenantSession.ID
    let filter: CookieFilter

    init(_ query: Query) throws(Problem) {
        session = try query.session()
        filter = CookieFilter(domain: query["domain"], name: query["name"])
    }

    /// As a query writes it, to go on with.
    var text: String {
        let session = session == .default ? nil : session.description
        return Query.text([("session", session), ("domain", filter.domain), ("name", filter.name)])
    }
}
