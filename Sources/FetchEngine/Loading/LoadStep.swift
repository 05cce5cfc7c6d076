public import HTTPTypes

/// Something that a load met on its way to its final response.
public enum LoadStep: Sendable {
    /// The URL of the first request was put into its standard form, which is another text than that which was written.
    case canonicalized(from: String, to: URLRecord)
    /// A redirect was followed.
    case redirected(Redirect)
    /// A server or a proxy sent a challenge.
    case challenged(AnsweredChallenge)
    /// A server sent an informational response (1xx) before its response; 100 is none.
    case informed(InformationalResponse)
    /// No connection could be made for the request to this URL, and the load waits for one.
    case awaitedConnectivity(URLRecord)
}

/// A response that comes before the final one of a request, such as 103 (Early Hints).
public struct InformationalResponse: Sendable {
    /// The URL of the request.
    public let url: URLRecord
    /// From 101 to 199.
    public let status: HTTPResponse.Status
    /// The fields of its head.
    public let headerFields: HTTPFields
}

/// A challenge that a task met, and its answer.
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

extension LoadStep {
    /// Whether the load went on to another request by it.
    var isDecision: Bool {
        switch self {
        case .redirected, .challenged: true
        case .canonicalized, .informed, .awaitedConnectivity: false
        }
    }

    fileprivate var isInformation: Bool { if case .informed = self { true } else { false } }
}

extension [LoadStep] {
    /// An origin decides how many informational responses there are; a load's further ones are not kept.
    private static let maximumInformed = 16

    mutating func note(_ response: InformationalResponse) {
        guard count(where: \.isInformation) < Self.maximumInformed else { return }
        append(.informed(response))
    }

    var redirects: [Redirect] { compactMap { if case .redirected(let redirect) = $0 { redirect } else { nil } } }
}
