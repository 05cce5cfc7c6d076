import FetchJobs
import HTTPTypes

/// An error of a call, in the words and with the codes of aria2.
struct Aria2Failure: Error, Sendable {
    let code: Int
    let message: String
    /// Of a request that is this call alone.
    let status: HTTPResponse.Status
    /// When the client may try again, in seconds, as a field says it.
    private(set) var retryAfter: String?

    private init(code: Int, _ message: String, status: HTTPResponse.Status) {
        (self.code, self.message, self.status) = (code, message, status)
    }

    init(_ message: String) { self.init(code: 1, message, status: .badRequest) }

    /// Clients know no others than 400 and 500 of aria2; what a limit or a fault of ours refuses keeps its status.
    init(_ problem: Problem) {
        switch problem.code {
        case .unauthorized: self = .unauthorized
        default:
            let status = problem.code.status
            let isKept = status.code == 403 || status.code == 413 || status.code == 429 || status.code >= 500
            self.init(
                code: 1, problem.detail ?? problem.code.title,
                status: isKept || problem.code == .methodNotAllowed ? status : .badRequest)
            retryAfter = problem.headers[.retryAfter]
        }
    }

    func write(_ writer: inout JSONWriter, in form: Aria2Form = .json) {
        writer.member(form == .json ? "code" : "faultCode", code)
        writer.member(form == .json ? "message" : "faultString", message)
    }

    // Clients go by these texts: they are aria2's own.

    static let unauthorized = Aria2Failure("Unauthorized")
    static let parseError = Aria2Failure(code: -32_700, "Parse error.", status: .internalServerError)
    static let invalidRequest = Aria2Failure(code: -32_600, "Invalid Request.", status: .badRequest)
    static let invalidParameters = Aria2Failure(code: -32_602, "Invalid params.", status: .internalServerError)
    static let recursion = Aria2Failure("Recursive system.multicall forbidden.")
    static let noStruct = Aria2Failure("system.multicall expected struct.")
    static let noMethodName = Aria2Failure("Missing methodName.")
    static let noURI = Aria2Failure("URI is not provided.")
    static let nothingToDownload = Aria2Failure("No URI to download.")
    static let illegalArgument = Aria2Failure("Illegal argument.")
    static let position = Aria2Failure("Position must be greater than or equal to 0.")

    static func noMethod(_ name: String) -> Self { Self("No such method: \(name.prefix(256))") }
    static func missing(_ index: Int) -> Self { Self("The parameter at \(index) is required but missing.") }
    static func wrongType(_ index: Int) -> Self { Self("The parameter at \(index) has wrong type.") }
    static func tooSmall(_ index: Int, _ minimum: Int64) -> Self {
        Self(
            "The integer parameter at \(index) has invalid value: the value must be greater than or equal to \(minimum)."
        )
    }
    static func invalid(gid: String) -> Self { Self("Invalid GID \(gid.prefix(64))") }
    static func notFound(_ gid: String) -> Self { Self("GID \(gid) is not found") }
    static func notUnique(_ gid: String) -> Self { Self("GID \(gid) is not unique") }
    static func option(_ name: String) -> Self {
        Self("We encountered a problem while processing the option '--\(name)'.")
    }

    // What aria2 can do and this service cannot.

    static func notSupported(_ what: String) -> Self { Self("\(what) is not supported by Fetchd") }
    static let tooManyCalls = Self("A request may have \(Aria2Exchange.maximumCalls) calls.")
    static let methodNameTooLong = Self("The name of a method has at most \(Aria2Exchange.maximumName) bytes.")
    static let answerTooLong = Self("The answers to this request are too long: ask for less, or for fewer keys.")
}
