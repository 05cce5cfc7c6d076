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
        write(trailers: trailers, &writer, urls)
    }

    func write(trailers: HTTPFields, _ writer: inout JSONWriter, _ urls: URLForm) {
        guard !trailers.isEmpty else { return }
        writer.member("trailers", array: { $0.headers(trailers.withoutSecrets(relativeTo: url, urls)) })
    }

    /// Writes the fields of a part, without secrets.
    package func writeFields(_ writer: inout JSONWriter, _ urls: URLForm) {
        writer.member("headers", array: { $0.headers(headerFields.withoutSecrets(relativeTo: url, urls)) })
    }

    private func write(_ writer: inout JSONWriter, _ headerFields: HTTPFields, _ urls: URLForm) {
        writeHead(
            &writer, url: urls.text(of: url), headerFields, fromCache: source == .cache,
            cacheStatus: cacheStatus.description)
        writer.member("properties", self[.byProtocol])
    }

    /// Writes the members that every response has, those of a stored one with what was stored of it.
    func writeHead(
        _ writer: inout JSONWriter, url: String, _ headerFields: HTTPFields, fromCache: Bool, cacheStatus: String
    ) {
        writer.member("url", url)
        writer.member("status", status.code)
        writer.member("httpVersion", httpVersion)
        writer.member("headers", array: { $0.headers(headerFields) })
        writer.member("mimeType", mimeType)
        writer.member("textEncodingName", textEncodingName)
        writer.member("expectedContentLength", expectedContentLength)
        writer.member("suggestedFilename", suggestedFilename)
        writer.member("fromCache", fromCache)
        writer.member("cacheStatus", cacheStatus)
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
    /// The member for what the library below has reported.
    static let cause = "underlying"

    /// Writes the members of the error.
    package func write(_ writer: inout JSONWriter, _ urls: URLForm = .whole) {
        writer.member("domain", "NSURLErrorDomain")
        writer.member("code", code.number)
        writer.member("name", code.name)
        writer.member("message", message)
        writer.member("failingURL", failingURL.map(urls.text))
        if let underlying {
            writer.member(
                Self.cause,
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
