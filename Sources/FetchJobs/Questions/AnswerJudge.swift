package import FetchEngine

/// Judges answers by the limits of their questions, by where requests may go, and by whom stored credentials are for.
package struct AnswerJudge: Sendable {
    private let refusal: @Sendable (URLRecord) async -> String?
    private let credentials: any CredentialCatalog

    /// - Parameters:
    ///   - credentials: Those of the tenants.
    ///   - refusal: Why a request must not be sent to a URL; nil when it may be.
    package init(
        credentials: any CredentialCatalog, refusal: @escaping @Sendable (URLRecord) async -> String?
    ) {
        self.credentials = credentials
        self.refusal = refusal
    }

    /// The violations of an answer, by JSON Pointers from the answer; empty when it is allowed.
    package func violations(of answer: Answer, to question: AskedQuestion) async throws(StoreError) -> [Violation] {
        var violations = question.limits.violations(of: answer)
        guard violations.isEmpty else { return violations }
        if let url = answer.request?.url, let reason = await refusal(url) {
            violations.append(Violation(pointer: "/request/url", message: reason))
        }
        if case .stored(let id)? = answer.credential {
            let stored = try await credentials.credential(id, of: question.tenant)
            if let message = Self.refusal(of: stored, for: question.limits.space) {
                violations.append(Violation(pointer: "/credential", message: message))
            }
        }
        return violations
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
    /// The blobs that it sends.
    package var blobs: [Blob.ID] {
        let body: JobBody? =
            switch self {
            case .useBody(let body): body
            case .follow(let change?), .useRequest(let change):
                if case .content(let body)? = change.body { body } else { nil }
            default: nil
            }
        return body?.blobs.map(\.id) ?? []
    }

    /// The request that it changes, if any.
    var request: RequestChange? {
        switch self {
        case .follow(let change): change
        case .useRequest(let change): change
        default: nil
        }
    }
}
