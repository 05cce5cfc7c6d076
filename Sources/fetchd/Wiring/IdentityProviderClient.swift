import FetchAPI
import FetchEngine
import HTTPTypes

/// Asks an identity provider as a job would ask a host.
struct IdentityProviderClient: Sendable {
    private let session: Session

    /// - Parameter makeSession: Makes a session whose guard is that of jobs.
    init(settings: Settings, makeSession: (SessionConfiguration) -> Session) {
        session = makeSession(.ofIssuers(settings.session))
    }

    @Sendable func ask(_ request: ProviderRequest) async throws -> ProviderAnswer {
        var outgoing = Request(url: try URLRecord(request.url))
        outgoing.headerFields[.accept] = "application/json"
        outgoing.headerFields[.authorization] = request.authorization
        if let form = request.form {
            outgoing.method = .post
            outgoing.headerFields[.contentType] = "application/x-www-form-urlencoded"
            outgoing.body = .bytes(Array(form.utf8))
        }
        let (body, response) = try await session.data(for: outgoing)
        return ProviderAnswer(status: response.status.code, body: body)
    }
}
