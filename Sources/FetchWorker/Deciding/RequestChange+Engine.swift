import FetchEngine
import FetchJobs
import HTTPTypes

extension RequestChange {
    /// The proposed request with what changes.
    ///
    /// What was meant for one origin alone stays there (SEC-31): where the origin changes, sensitive fields go.
    ///
    /// - Parameter content: What its body stands for.
    func applied(to proposed: Request, sending content: RequestContent.Prepared?) -> Request {
        var request = proposed
        if let url {
            if url.origin != proposed.url.origin { request.headerFields.removeAll(where: \.isSensitive) }
            request.url = url
        }
        if let method { request.method = method }
        if let headers {
            let names = Set(headers.map(\.name))
            request.headerFields.removeAll { !$0.isSensitive || names.contains($0.name) }
            for field in headers { request.headerFields.append(field) }
        }
        if let cachePolicy { request.cachePolicy = cachePolicy }
        switch body {
        case nil: break
        case RequestChange.Body.none?: request.setContent(nil)
        case .content?: request.setContent(content)
        }
        return request
    }
}

extension Request {
    /// Sends other content, or none; the fields that describe the old one are removed with it.
    fileprivate mutating func setContent(_ content: RequestContent.Prepared?) {
        let described: Set<HTTPField.Name> = [.contentEncoding, .contentLanguage, .contentLocation, .contentLength]
        headerFields.removeAll { described.contains($0.name) }
        if content == nil { headerFields[.contentType] = nil }
        body = content?.body
        if let type = content?.contentType { headerFields[.contentType] = type }
    }
}
