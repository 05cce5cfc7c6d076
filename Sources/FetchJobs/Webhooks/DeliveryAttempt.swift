package import FetchEngine
import FoundationEssentials
package import HTTPTypes

/// One message sent, and its response.
package struct DeliveryAttempt: Sendable, Equatable {
    /// How the attempt ended.
    package enum Result: Sendable, Equatable {
        case answer(Answer)
        /// No answer came; the engine's name of the reason.
        case error(name: String)
    }

    package struct Answer: Sendable, Equatable {
        package let status: Int
        package let headers: RawJSON
        /// The first ``maximumBody`` bytes.
        package let body: [UInt8]
        /// The body goes on after them.
        package let isCut: Bool

        /// Keeps the beginning of a body, and no secrets of the fields.
        ///
        /// - Parameters:
        ///   - url: The URL that sent the response.
        ///   - isWhole: Whether the body ends with these bytes.
        package init(status: Int, of url: URLRecord? = nil, headers: HTTPFields, body: [UInt8], isWhole: Bool) {
            self.init(
                status: status,
                headers: .array { $0.headers(headers.withoutSecrets(relativeTo: url, .whole)) },
                body: Array(body.prefix(DeliveryAttempt.maximumBody)),
                isCut: !isWhole || body.count > DeliveryAttempt.maximumBody
            )
        }

        package init(status: Int, headers: RawJSON, body: [UInt8], isCut: Bool) {
            self.status = status
            self.headers = headers
            self.body = body
            self.isCut = isCut
        }
    }

    /// How much of an answer is kept, in bytes.
    package static let maximumBody = 4096

    /// From 1.
    package let number: Int
    package let startedAt: Timestamp
    package let duration: Duration
    package let url: String
    package let requestHeaders: RawJSON
    package let result: Result

    package init(
        number: Int,
        startedAt: Timestamp,
        duration: Duration,
        url: String,
        requestHeaders: RawJSON,
        result: Result
    ) {
        self.number = number
        self.startedAt = startedAt
        self.duration = duration
        self.url = url
        self.requestHeaders = requestHeaders
        self.result = result
    }

    package var answer: Answer? { if case .answer(let answer) = result { answer } else { nil } }

    package var errorName: String? { if case .error(let name) = result { name } else { nil } }

    /// Writes the members of the attempt.
    package func write(_ writer: inout JSONWriter) {
        writer.member("number", number)
        writer.member("startedAt", startedAt.description)
        writer.member("duration", duration.seconds)
        writer.member(
            "request",
            object: { writer in
                writer.member("url", url)
                writer.member("headers", requestHeaders)
            }
        )
        writer.member("error", errorName)
        guard let answer else { return }
        writer.member("response", object: answer.write)
    }
}

extension DeliveryAttempt.Answer {
    fileprivate func write(_ writer: inout JSONWriter) {
        writer.member("status", status)
        writer.member("headers", headers)
        writer.member(
            "body",
            object: { writer in
                writer.member("text", text)
                if text == nil { writer.member("base64", Data(body).base64EncodedString()) }
                writer.member("isCut", isCut)
            }
        )
    }

    /// The body as text, without an incomplete character at its end; nil when it is no text.
    private var text: String? {
        (isCut ? 0...3 : 0...0).lazy.compactMap { String(validating: body.dropLast($0), as: UTF8.self) }.first
    }
}
