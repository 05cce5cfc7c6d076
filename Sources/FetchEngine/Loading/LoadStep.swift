/// Something that a load met on its way to its final response.
public enum LoadStep: Sendable {
    /// A redirect was followed.
    case redirected(Redirect)
    /// A server or a proxy asked who is there.
    case challenged(AnsweredChallenge)
}

/// A challenge that a task met, and what was made of it.
public struct AnsweredChallenge: Sendable {
    /// The decision about it.
    public enum Answer: String, Sendable {
        /// A credential was sent.
        case useCredential
        /// There was none: the response at hand is the result.
        case performDefaultHandling
        /// The load was ended.
        case cancelAuthenticationChallenge
    }

    /// The protection space of the challenge.
    public let protectionSpace: ProtectionSpace
    /// How often authentication had failed in this task before.
    public let previousFailureCount: Int
    /// The decision about it.
    public let answer: Answer
}

extension [LoadStep] {
    var redirects: [Redirect] { compactMap { if case .redirected(let redirect) = $0 { redirect } else { nil } } }
}
