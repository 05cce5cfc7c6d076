/// A failure between us, a proxy and the target behind it.
enum ProxyFailure: Equatable {
    /// The proxy's name did not resolve.
    case proxyNotFound
    /// The target's name did not resolve, where that was on our side.
    case targetNotFound
    /// The proxy was not reached, or broke off before it had answered.
    case notReached
    /// The reply of the proxy breaks its protocol.
    case badAnswer
    /// The proxy wants a credential, or another one.
    case wantsCredential
    /// The proxy did not reach the target in time.
    case tooLate
    /// The proxy could not connect to the target.
    case unreached
    /// The proxy answered that it does not connect to the target.
    case refused

    /// The meaning of a status other than 2xx in the response to CONNECT.
    init(connectStatus status: Int) {
        switch status {
        case 407: self = .wantsCredential
        case 504: self = .tooLate
        case 500...599: self = .unreached
        default: self = .refused
        }
    }

    /// The error it is.
    var code: LoadError.Code {
        switch self {
        case .proxyNotFound: .cannotFindProxy
        case .targetNotFound: .cannotFindHost
        case .notReached: .cannotConnectToProxy
        case .badAnswer: .badProxyResponse
        case .wantsCredential: .proxyAuthenticationRequired
        case .tooLate: .timedOut
        case .unreached: .proxyCouldNotConnect
        case .refused: .proxyRefusedConnection
        }
    }

    /// The error in a sentence.
    var message: String {
        switch self {
        case .proxyNotFound: "The name of the proxy did not resolve."
        case .targetNotFound: "The host name did not resolve."
        case .notReached: "No connection to the proxy could be made."
        case .badAnswer: "The proxy does not speak its protocol as it should."
        case .wantsCredential: "The proxy wants a credential, or another one."
        case .tooLate: "The proxy did not reach the target in time."
        case .unreached: "The proxy could not connect to the target."
        case .refused: "The proxy does not connect to the target."
        }
    }
}
