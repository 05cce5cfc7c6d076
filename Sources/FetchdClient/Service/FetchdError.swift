public import FetchEngine
import Foundation
import HTTPTypes

/// Why a call failed: the problem that the service has told, or what kept it from telling.
///
/// ```swift
/// do {
///     _ = try await service.jobs.get("job_…")
/// } catch {
///     print(error.code, error.isRetryable, error.requestID ?? "")
/// }
/// ```
public struct FetchdError: Error, Sendable {
    /// The stable word of a failure; an open set, most of which the service names.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The word.
        public let rawValue: String
        /// Makes a code of its word.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The word.
        public var description: String { rawValue }

        /// The service cannot be reached, or the connection broke.
        public static let connectionFailed = Self(rawValue: "connectionFailed")
        /// The service was silent for too long, or what was waited for did not happen.
        public static let timedOut = Self(rawValue: "timedOut")
        /// The calling task was cancelled.
        public static let cancelled = Self(rawValue: "cancelled")
        /// What answered does not speak the API.
        public static let answerInvalid = Self(rawValue: "answerInvalid")
        /// The URL of the service is no plain http or https URL.
        public static let urlInvalid = Self(rawValue: "urlInvalid")
        /// There is no key, or it has a character that no key has.
        public static let keyInvalid = Self(rawValue: "keyInvalid")
        /// The job failed or was cancelled; the error of its load is the ``FetchdError/underlying`` one.
        public static let jobFailed = Self(rawValue: "jobFailed")
        /// The body that has come is not the one that the service has.
        public static let contentDigestMismatch = Self(rawValue: "contentDigestMismatch")
        /// A body was to be sent again, and its provider gave no other stream.
        public static let bodyNotRepeatable = Self(rawValue: "bodyNotRepeatable")
        /// A message to a webhook is not from the service, or too old.
        public static let signatureInvalid = Self(rawValue: "signatureInvalid")
        /// There is no such job, question or session.
        public static let notFound = Self(rawValue: "notFound")
        /// The job is not over.
        public static let jobNotFinal = Self(rawValue: "jobNotFinal")
        /// A call with the same `Idempotency-Key` is being carried out, or left no answer.
        public static let idempotencyKeyInUse = Self(rawValue: "idempotencyKeyInUse")
        /// The question has another answer already.
        public static let alreadyAnswered = Self(rawValue: "alreadyAnswered")
        /// The question is over.
        public static let questionClosed = Self(rawValue: "questionClosed")
        /// The answer breaks a limit of the question, which stays open.
        public static let answerNotAllowed = Self(rawValue: "answerNotAllowed")
    }

    /// A rule that a request has broken.
    public struct BrokenRule: Sendable, Hashable {
        /// The member of the body (RFC 6901), or the name of the parameter or header field.
        public let place: String
        /// The rule.
        public let message: String
    }

    /// The kind of the failure.
    public let code: Code
    /// One sentence for a person.
    public let message: String
    /// What happened this time, in a sentence.
    public var detail: String?
    /// The status of the answer; nil when none came.
    public var status: Int?
    /// The service's name for the call, which its log has too.
    public var requestID: String?
    /// The rules that the request has broken.
    public var brokenRules: [BrokenRule] = []
    /// How long the service asks to wait.
    public var retryAfter: Duration?
    /// The failure of the connection to the service, or of the load of a job.
    public var underlying: LoadError?

    init(_ code: Code, _ message: String, underlying: LoadError? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    /// Whether the same call may succeed later.
    public var isRetryable: Bool {
        if let status { return [408, 425, 429, 500, 502, 503, 504].contains(status) }
        return code == .connectionFailed || code == .timedOut
    }
}

extension FetchdError: CustomStringConvertible {
    /// The code, the sentences and the id of the request in one line.
    public var description: String {
        let parts = [message, detail ?? "", requestID.map { "(\($0))" } ?? ""].filter { !$0.isEmpty }
        return "\(code): " + parts.joined(separator: " ")
    }
}

extension FetchdError {
    /// What the engine says of a connection to the service, in our words.
    init(_ error: LoadError) {
        switch error.code {
        case .cancelled: self.init(.cancelled, "The call was cancelled.", underlying: error)
        case .timedOut: self.init(.timedOut, "The service does not answer in time.", underlying: error)
        case .contentDigestMismatch:
            self.init(.contentDigestMismatch, "The body is not the one that the service has.", underlying: error)
        case .requestBodyStreamExhausted:
            self.init(.bodyNotRepeatable, "The body has to be sent again, and is there no more.", underlying: error)
        default: self.init(.connectionFailed, "The service cannot be reached.", underlying: error)
        }
    }

    /// Does something over a connection to the service.
    static func wrap<Value>(
        _ body: () async throws(LoadError) -> sending Value
    ) async throws(FetchdError) -> sending Value {
        do throws(LoadError) { return try await body() } catch { throw FetchdError(error) }
    }

    /// Whether no byte of the call can have arrived.
    var isBeforeSending: Bool {
        guard let code = underlying?.code else { return false }
        return [.cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .notConnectedToInternet].contains(code)
    }

    /// What an answer with a status of failure says.
    init(problem body: [UInt8], of response: Response) {
        struct Document: Decodable {
            struct Rule: Decodable {
                let pointer: String?
                let parameter: String?
                let message: String
            }
            let title: String
            let code: String
            let detail: String?
            let errors: [Rule]?
        }
        let status = response.status.code
        if let document = try? JSONDecoder().decode(Document.self, from: Data(body)) {
            self.init(Code(rawValue: document.code), document.title)
            detail = document.detail
            brokenRules = (document.errors ?? []).map { rule in
                BrokenRule(place: rule.pointer ?? rule.parameter ?? "", message: rule.message)
            }
        } else {
            // Something in front of the service has answered.
            self.init(.answerInvalid, "The answer has the status \(status), and is no problem document.")
        }
        self.status = status
        requestID = response.headerFields[.requestID]
        retryAfter = response.retryAfter()
    }
}
