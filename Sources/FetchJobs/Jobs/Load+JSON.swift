// The outcome of a load as the API writes it: the same in a job, in an event and in `fetchd get --json`.

package import FetchEngine
package import HTTPTypes

extension Response {
    /// Writes the members of the response; the body is not among them.
    package func write(_ writer: inout JSONWriter) { write(&writer, headerFields, .whole) }

    /// The same for storage, without secrets.
    ///
    /// - Parameter trailers: The fields that came after the body.
    package func writeWithoutSecrets(
        _ writer: inout JSONWriter, _ urls: URLForm, trailers: HTTPFields = HTTPFields()
    ) {
        write(&writer, headerFields.withoutSecrets(relativeTo: url, urls), urls)
        guard !trailers.isEmpty else { return }
        writer.member("trailers", array: { $0.headers(trailers.withoutSecrets(relativeTo: url, urls)) })
    }

    /// Writes the fields of a part, without secrets.
    package func writeFields(_ writer: inout JSONWriter, _ urls: URLForm) {
        writer.member("headers", array: { $0.headers(headerFields.withoutSecrets(relativeTo: url, urls)) })
    }

    private func write(_ writer: inout JSONWriter, _ headerFields: HTTPFields, _ urls: URLForm) {
        writer.member("url", urls.text(of: url))
        writer.member("status", status.code)
        writer.member("httpVersion", httpVersion)
        writer.member("headers", array: { $0.headers(headerFields) })
        writer.member("mimeType", mimeType)
        writer.member("textEncodingName", textEncodingName)
        writer.member("expectedContentLength", expectedContentLength)
        writer.member("suggestedFilename", suggestedFilename)
        writer.member("fromCache", source == .cache)
        writer.member("cacheStatus", cacheStatus.description)
        writer.member("properties", self[.byProtocol])
    }
}

extension InformationalResponse {
    func writeWithoutSecrets(_ writer: inout JSONWriter, _ urls: URLForm) {
        writer.member("url", urls.text(of: url))
        writer.member("status", status.code)
        writer.member("headers", array: { $0.headers(headerFields.withoutSecrets(relativeTo: url, urls)) })
    }
}

extension LoadError {
    /// Writes the members of the error.
    package func write(_ writer: inout JSONWriter, _ urls: URLForm = .whole) {
        writer.member("domain", "NSURLErrorDomain")
        writer.member("code", code.number)
        writer.member("name", code.name)
        writer.member("message", message)
        writer.member("failingURL", failingURL.map(urls.text))
        if let underlying {
            writer.member(
                "underlying",
                object: { writer in
                    writer.member("domain", underlying.domain)
                    writer.member("code", underlying.number)
                    writer.member("text", underlying.text)
                }
            )
        }
        writer.member("retriable", isTransient)
    }
}

extension Redirect {
    /// Writes the members of the redirect.
    package func write(_ writer: inout JSONWriter, _ urls: URLForm = .whole) {
        writer.member("url", urls.text(of: url))
        writer.member("status", status.code)
        writer.member("location", urls.text(of: target))
        writer.member("method", method.rawValue)
        if cause != .response { writer.member("cause", cause.rawValue) }
    }
}

extension AnsweredChallenge {
    /// Writes the members of the challenge.
    package func write(_ writer: inout JSONWriter) {
        writer.member("protectionSpace", object: protectionSpace.write)
        writer.member("previousFailureCount", previousFailureCount)
        writer.member("answer", answer.rawValue)
    }
}

extension TaskMetrics {
    /// The most bytes of recorded fields that a load has; those of transfers after it are left out.
    private static let maximumFieldBytes = 64 * 1024

    /// Writes the transactions as elements.
    ///
    /// - Parameter urls: The form in which URLs in header fields are shown.
    package func writeTransactions(_ writer: inout JSONWriter, taskStart: Timestamp, _ urls: URLForm = .whole) {
        var room = Self.maximumFieldBytes
        for transaction in transactions { transaction.write(&writer, taskStart: taskStart, urls, room: &room) }
    }
}

extension TransactionMetrics {
    /// Writes the transaction as an element; `fetchStart` counts from the start of the task.
    fileprivate func write(
        _ writer: inout JSONWriter, taskStart: Timestamp, _ urls: URLForm, room: inout Int
    ) {
        writer.object { writer in
            writer.member("url", url.redacted)
            writer.member("status", status)
            writer.member("networkProtocolName", networkProtocolName)
            writer.member("remoteAddress", remoteAddress)
            writer.member("remotePort", remotePort)
            writer.member("isReusedConnection", isReusedConnection)
            if connectionWasLost { writer.member("connectionWasLost", true) }
            writer.member("fetchStart", taskStart.advanced(by: fetchStart).description)
            writer.member("domainLookup", from: domainLookupStart, to: domainLookupEnd)
            writer.member("connect", from: connectStart, to: connectEnd)
            writer.member("secureConnection", from: secureConnectionStart, to: secureConnectionEnd)
            writer.member("request", from: requestStart, to: requestEnd)
            writer.member("response", from: responseStart, to: responseStart.map { _ in responseEnd })
            writer.member("duration", responseEnd)
            writer.member("countOfRequestHeaderBytesSent", countOfRequestHeaderBytesSent)
            writer.member("countOfRequestBodyBytesSent", countOfRequestBodyBytesSent)
            writer.member("countOfResponseHeaderBytesReceived", countOfResponseHeaderBytesReceived)
            writer.member("countOfResponseBodyBytesReceived", countOfResponseBodyBytesReceived)
            writer.member("tlsProtocolVersion", negotiatedTLSProtocolVersion)
            writer.member("tlsCipherSuite", negotiatedTLSCipherSuite)
            write(requestHeaderFields, as: "requestHeaders", &writer, urls, room: &room)
            write(responseHeaderFields, as: "responseHeaders", &writer, urls, room: &room)
            if !certificates.isEmpty { writer.member("certificates", array: writeCertificates) }
            if !cookieNames.isEmpty {
                writer.member(
                    "cookies",
                    array: { writer in
                        for name in cookieNames.prefix(Self.maximumCookies) { writer.value(Self.cut(name)) }
                    })
            }
        }
    }

    private func write(
        _ fields: HTTPFields?, as name: String, _ writer: inout JSONWriter, _ urls: URLForm, room: inout Int
    ) {
        guard let fields else { return }
        let size = fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count }
        guard size <= room else { return }
        room -= size
        let shown = fields.withoutSecrets(relativeTo: url, urls)
        writer.member(name, array: { writer in shown.forEach { $0.write(&writer, .redacted) } })
    }

    private static let maximumCertificates = 5
    private static let maximumCookies = 50
    /// Names that a server has chosen are no longer than this, in characters.
    private static let maximumLength = 256

    private static func cut(_ text: String) -> String { String(text.unicodeScalars.prefix(maximumLength)) }

    private func writeCertificates(_ writer: inout JSONWriter) {
        for certificate in certificates.prefix(Self.maximumCertificates) {
            let summary = CertificateSummary(der: certificate)
            let time = { (seconds: Int64) in Timestamp(microseconds: seconds * 1_000_000).description }
            writer.object { writer in
                writer.member("subject", summary.map { Self.cut($0.subject) })
                writer.member("issuer", summary.map { Self.cut($0.issuer) })
                writer.member("notBefore", summary?.notBefore.map(time))
                writer.member("notAfter", summary?.notAfter.map(time))
                writer.member("sha256", Fingerprint(of: certificate).description)
            }
        }
    }
}

extension JSONWriter {
    /// A phase as `[start, end]` in seconds; nothing when it did not happen.
    fileprivate mutating func member(_ name: String, from start: Duration?, to end: Duration?) {
        guard let start, let end else { return }
        member(
            name,
            array: { writer in
                writer.value(start)
                writer.value(end)
            }
        )
    }
}

extension Duration {
    /// Seconds, to the microsecond.
    package var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds * 1_000_000 + attoseconds / 1_000_000_000_000) / 1_000_000
    }
}

extension PropertyKey<JSONValue> {
    /// The properties of a request to a registered protocol, or of its response: an object.
    package static let byProtocol = Self("properties")
}
