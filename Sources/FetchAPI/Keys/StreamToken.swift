import Crypto
import FetchJobs
import FoundationEssentials
import HTTPTypes
import Hummingbird

/// Lets a browser follow the events of one job for some minutes: its `EventSource` cannot send an API key.
///
/// It names the job, its tenant and the key that it was made with, and is signed with the service's secret: nobody keeps
/// it, and every node takes it. It stands in a URL, where others may see it, so it opens nothing but that stream, and
/// nothing once it is over or its key is not valid any more. A stream that is open goes on without
/// it for as long as the key is valid.
struct StreamToken: Sendable, Equatable {
    /// In seconds.
    static let lifetime: Int64 = 300
    private static let prefix = "fs_"
    private static let maximumLength = 512

    let tenant: Tenant.ID
    let job: Job.ID
    let key: APIKey.ID
    /// Unix time in seconds.
    let expiresAt: Int64

    init(tenant: Tenant.ID, job: Job.ID, key: APIKey.ID, now: Int64) {
        self.tenant = tenant
        self.job = job
        self.key = key
        expiresAt = now + Self.lifetime
    }

    /// The token that a text is; nil when it is not one of ours, is for another job or is over.
    init?(_ text: String, job: Job.ID, secret: SessionSecret, now: Int64) {
        guard text.utf8.count <= Self.maximumLength else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0].hasPrefix(Self.prefix),
            let tenant = Int64(parts[0].dropFirst(Self.prefix.count)), let key = APIKey.ID(String(parts[1])),
            let expiresAt = Int64(parts[2]), let code = SignedToken.bytes(Array(parts[3].utf8)[...])
        else { return nil }
        self.tenant = Tenant.ID(rawValue: tenant)
        self.job = job
        self.key = key
        self.expiresAt = expiresAt
        let isOurs = HMAC<SHA256>.isValidAuthenticationCode(
            Data(code), authenticating: Array(content.utf8), using: SymmetricKey(data: secret.bytes))
        // Numbers have other spellings, which are not ours.
        guard isOurs, self.text(secret) == text, expiresAt > now else { return nil }
    }

    func text(_ secret: SessionSecret) -> String {
        let code = HMAC<SHA256>.authenticationCode(
            for: Array(content.utf8), using: SymmetricKey(data: secret.bytes))
        return "\(Self.prefix)\(tenant).\(key).\(expiresAt).\(OpaqueText.write(Array(code)))"
    }

    /// What is signed; the secret signs other things too, which begin with other words.
    private var content: String { "stream.\(tenant).\(job).\(key).\(expiresAt)" }
}

/// Makes tokens for streams of events, and finds the keys of requests that bring one.
struct StreamTokens: Sendable {
    /// The parameter of a query that has a token.
    static let parameter = "token"

    let keys: any KeyStore
    let signIns: any SignInStore
    let authenticator: Authenticator

    /// A token for the events of a job.
    ///
    /// - Throws: ``Problem`` `scopeRequired` for a JSON Web Token, which has no key that could be revoked.
    func make(for job: Job.ID, of tenant: Tenant.ID, by key: APIKey) async throws -> (text: String, end: Timestamp) {
        guard key.subject == nil else {
            throw Problem(.scopeRequired, "Only API keys make tokens for streams: a JSON Web Token cannot be revoked.")
        }
        let token = StreamToken(tenant: tenant, job: job, key: key.id, now: Timestamp.now.seconds)
        return (token.text(try await signIns.secret()), Timestamp(microseconds: token.expiresAt * 1_000_000))
    }

    /// The key that the token of a request was made with; nil of a request that has none, or a key of its own.
    ///
    /// - Throws: ``Problem``, as for a wrong key and counted as one: nothing tells which fault a token has.
    func key(of call: Call) async throws -> APIKey? {
        guard call.bringsStreamToken, let query = call.request.uri.query, let text = try Query(query)[Self.parameter]
        else { return nil }
        guard let job = Job.ID(call.parameter),
            let token = StreamToken(text, job: job, secret: try await signIns.secret(), now: Timestamp.now.seconds),
            let key = try await keys.key(token.key, of: token.tenant)?.key, key.isValid(at: .now)
        else { throw authenticator.failure(of: call) }
        authenticator.uses.note(key.id)
        return key
    }

    /// Refuses to go on with a stream whose key is not valid any more, be it its own or that of its token.
    ///
    /// - Throws: ``Problem`` `unauthorized`.
    func requireKey(of call: Call) async throws {
        guard call.bringsStreamToken, let key = call.key else {
            _ = try await authenticator.key(of: call)
            return
        }
        guard try await keys.key(key.id, of: key.tenant)?.key.isValid(at: .now) == true else {
            throw Authenticator.unauthorized
        }
    }
}

extension Call {
    /// Whether a token in its query stands for its key.
    var bringsStreamToken: Bool { headers[.authorization] == nil }
}
