import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird
import NIOCore

/// A response that tells a client of an error (RFC 9457).
///
/// Every error while a request is handled becomes one of these, here and nowhere else.
struct Problem: Error, Sendable {
    /// A rule that was broken, and the place that broke it.
    struct Entry: Sendable, Equatable {
        enum Place: Sendable, Equatable {
            /// A member of the body, as a JSON Pointer.
            case member(String)
            /// A query parameter or a header field.
            case parameter(String)
        }

        let place: Place
        let message: String
    }

    let code: ProblemCode
    var detail: String?
    var errors: [Entry] = []
    var headers = HTTPFields()
    /// The limit that was reached, by the name in `RateLimit`; nil when there is none.
    private(set) var limit: String?

    init(_ code: ProblemCode, _ detail: String? = nil) {
        self.code = code
        self.detail = detail
    }

    init(parameter: String, _ message: String, code: ProblemCode = .invalidParameter) {
        self.init(code, "\(parameter) \(message)")
        errors = [Entry(place: .parameter(parameter), message: message)]
    }

    init(_ input: InvalidInput) {
        self.init(.invalidInput)
        errors = input.violations.map { Entry(place: .member($0.pointer), message: $0.message) }
        detail = input.violations.first.map { "\($0.pointer.isEmpty ? "The value" : $0.pointer) \($0.message)" }
    }

    init(_ failure: JSONParser.Failure) {
        self.init(.malformedJSON, "At byte \(failure.offset): \(failure.message).")
    }

    /// The problem for an error, without any text of its cause (SEC-46).
    init(_ error: any Error) {
        switch error {
        case let problem as Problem: self = problem
        case let input as InvalidInput: self.init(input)
        case let failure as JSONParser.Failure: self.init(failure)
        case is KeyReading.Busy:
            self = Problem(.notReady, "Too many encrypted keys of yours wait to be read.").retrying(after: 2)
        case let error as StoreError:
            switch error.code {
            case .unavailable: self = .unavailable
            case .blobAway: self = Problem(.blobStoreUnavailable, error.message).retrying(after: 5)
            case .blobGone: self.init(.notFound, "The bytes were removed.")
            case .full: self.init(.storageFull)
            case .overQuota: self = Problem(.tooManyBytes, error.message).retrying(after: 60)
            case .failed, .blob: self.init(.internalError)
            case .elsewhere: self.init(.misdirectedRequest, error.message)
            }
        default: self.init(.internalError)
        }
    }

    static let unavailable = Problem(.databaseUnavailable, "Try again shortly.").retrying(after: 1)

    /// The problem of a client whose work is refused.
    init(_ overload: Overload) {
        switch overload {
        case .storageFull: self = Problem(.storageFull, "The disk of the node is nearly full.").retrying(after: 30)
        case .memoryLow: self = Problem(.overloaded, "The node has little memory left.").retrying(after: 5)
        case .queueOld:
            let minutes = QueueDelays.limit.components.seconds / 60
            self = Problem(
                .overloaded,
                "The jobs of this tenant have all waited for more than \(minutes) minutes: send more once they are fewer."
            ).retrying(after: 30)
        case .memoryExhausted: self = Problem(.notReady, "The node has no memory left for more.").retrying(after: 10)
        }
    }

    func retrying(after seconds: Int) -> Problem {
        var problem = self
        problem.headers[.retryAfter] = String(seconds)
        return problem
    }

    /// The same for a limit that was reached, with fields that clients can read without parsing a sentence
    /// (draft-ietf-httpapi-ratelimit-headers).
    ///
    /// - Parameters:
    ///   - quota: How much the limit allows, in `window` seconds or at once.
    func limited(by limit: String, quota: Int, window: Int? = nil, retryingAfter seconds: Int) -> Problem {
        var problem = retrying(after: seconds)
        problem.limit = limit
        let period = window.map { ";w=\($0)" } ?? ""
        problem.headers[.rateLimitPolicy] = "\"\(limit)\";q=\(quota)\(period)"
        problem.headers[.rateLimit] = "\"\(limit)\";r=0;t=\(seconds)"
        return problem
    }
}

extension Problem {
    /// The problem of a client whose tenant has no room for a blob.
    init(_ room: BlobRoom) {
        self = Problem(
            .tooManyBytes, "A tenant may have \(room.maximum) bytes stored, and has room for \(room.left) more."
        ).limited(by: "storedBytes", quota: Int(room.maximum), retryingAfter: 60)
        // The rest of the body is not worth reading.
        headers[.connection] = "close"
    }

    static let contentType = "application/problem+json"

    func response(requestID: String) -> Response {
        var headers = headers
        headers[.contentType] = Self.contentType
        headers[.cacheControl] = "no-store"
        headers[.xContentTypeOptions] = "nosniff"
        return Response(
            status: code.status,
            headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: JSONWriter.object { write(&$0, requestID: requestID) }))
        )
    }

    func write(_ writer: inout JSONWriter, requestID: String?) {
        writer.member("type", "/docs/problems/\(code.rawValue)")
        writer.member("title", code.title)
        writer.member("status", code.status.code)
        writer.member("detail", detail)
        writer.member("instance", requestID.map { "urn:request:\($0)" })
        writer.member("code", code.rawValue)
        guard !errors.isEmpty else { return }
        writer.member(
            "errors",
            array: { writer in
                for entry in errors {
                    writer.object { writer in
                        switch entry.place {
                        case .member(let pointer): writer.member("pointer", pointer)
                        case .parameter(let name): writer.member("parameter", name)
                        }
                        writer.member("message", entry.message)
                    }
                }
            }
        )
    }
}
