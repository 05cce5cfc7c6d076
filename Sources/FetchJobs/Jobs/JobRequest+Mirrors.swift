package import FetchEngine
import HTTPTypes

// Several URLs of one file: attempts load them in turn.

extension JobRequest {
    package static let maximumMirrors = 16

    /// The URL of the job and its mirrors, in their order.
    package var urls: [URLRecord] { [url] + mirrors }

    /// The URL that an attempt loads which so many attempts have failed before: each in turn.
    package func url(after tries: Int) -> URLRecord {
        let index = tries % (mirrors.count + 1)
        return index == 0 ? url : mirrors[index - 1]
    }

    /// The request that an attempt sends which so many attempts have failed before.
    ///
    /// Sensitive fields are for the origin of the job's URL alone, as they are at redirects (SEC-31).
    package func attempt(after tries: Int) -> JobRequest {
        let url = url(after: tries)
        guard url != self.url else { return self }
        var request = self
        request.setURLs([url] + mirrors)
        if mainDocumentURL == self.url { request.mainDocumentURL = url }
        if url.origin != self.url.origin { request.headers.removeAll(where: \.isSensitive) }
        return request
    }

    /// Whether one of the URLs was not loaded yet when an attempt fails which so many have failed before.
    package func hasUntriedURL(after tries: Int) -> Bool { tries < mirrors.count }

    /// Whether it has something that is for the server of its URL alone.
    package var hasSensitiveFields: Bool { headers.contains(where: \.isSensitive) }

    /// Whether the URLs of two requests, not their mirrors, are of one origin.
    package func isOfSameOrigin(as other: JobRequest) -> Bool { url.origin == other.url.origin }

    /// A URL as the service writes it; what is none stays as it is.
    package static func standardForm(ofURL text: String) -> String { (try? URLRecord(text)).map { "\($0)" } ?? text }

    static func mirrors(_ reader: JSONReader) -> [URLRecord] {
        (reader.array(maximum: maximumMirrors) ?? []).compactMap { reader in
            guard let url = reader.jobURL() else { return nil }
            guard url.isHTTP || url.isFTP else {
                reader.refuse("must be an http, https, ftp or ftps URL (schemeForbidden)")
                return nil
            }
            guard !url.hasCredentials else {
                reader.refuse("must not hold a user name or password, which are for the URL of the job")
                return nil
            }
            return url
        }
    }
}
