package import FetchEngine

/// Judges answers by the limits of their questions, by where requests may go, and by whose stored credentials and blobs
/// they name.
package struct AnswerJudge: Sendable {
    private let refusal: @Sendable (URLRecord, Tenant.ID) async -> String?
    private let credentials: any CredentialCatalog
    private let blobs: any BlobCatalog

    /// - Parameters:
    ///   - credentials: Those of the tenants.
    ///   - blobs: Those of the tenants.
    ///   - refusal: Why a request of a tenant must not be sent to a URL; nil when it may be.
    package init(
        credentials: any CredentialCatalog, blobs: any BlobCatalog,
        refusal: @escaping @Sendable (URLRecord, Tenant.ID) async -> String?
    ) {
        self.blobs = blobs
        self.credentials = credentials
        self.refusal = refusal
    }

    /// The violations of an answer, by JSON Pointers from the answer; empty when it is allowed: its blobs stay then as
    /// long as the job.
    package func violations(of answer: Answer, to question: AskedQuestion) async throws(StoreError) -> [Violation] {
        var violations = question.limits.violations(of: answer)
        guard violations.isEmpty else { return violations }
        if let url = answer.request?.url, let reason = await refusal(url, question.tenant) {
            violations.append(Violation(pointer: "/request/url", message: reason))
        }
        if case .stored(let id)? = answer.credential {
            let stored = try await credentials.credential(id, of: question.tenant)
            if let message = Self.refusal(of: stored, for: question.limits.space) {
                violations.append(Violation(pointer: "/credential", message: message))
            }
        }
        let named = answer.blobs
        guard violations.isEmpty, !named.isEmpty else { return violations }
        let held = try await blobs.hold(Set(named.map(\.id)), for: question.job, of: question.tenant)
        return named.filter { !held.contains($0.id) }
            .map { Violation(pointer: $0.pointer, message: "is not a blob of yours") }
    }

    private static func refusal(of stored: StoredCredential?, for space: ProtectionSpace?) -> String? {
        guard let stored else { return "is not a credential of yours" }
        guard let space, !stored.space.covers(space) else { return nil }
        return
            "is stored for \(ProtectionSpace.Party(stored.space)), and \(ProtectionSpace.Party(space)) asks: a stored "
            + "credential does not leave its protection space (credentialOutOfSpace)"
    }
}

extension Answer {
    /// The body that it sends, if any.
    package var sentBody: JobBody? {
        switch self {
        case .useBody(let body): body
        case .follow(let change?), .useRequest(let change):
            if case .content(let body)? = change.body { body } else { nil }
        default: nil
        }
    }

    /// The blobs that it sends, and where they stand in it.
    var blobs: [(id: Blob.ID, pointer: String)] {
        let named = sentBody?.blobs ?? []
        guard case .useBody = self else { return named }
        return named.map { ($0.id, String($0.pointer.trimmingPrefix("/request"))) }
    }

    /// The change of a request that it has, if any.
    package var request: RequestChange? {
        switch self {
        case .follow(let change): change
        case .useRequest(let change): change
        default: nil
        }
    }
}
