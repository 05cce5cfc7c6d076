import HTTPTypes

/// Which answers may be stored (RFC 9111 §3).
enum Storability {
    /// Whether an answer that came from the origin may be stored for others like this request.
    static func allows(
        _ response: Response, to request: Request, directives: CacheDirectives, configuration: CachingConfiguration
    ) -> Bool {
        guard request.url.isHTTP, request.method == .get, request.body == nil, !directives.noStore else {
            return false
        }
        // A user name and password must not be stored, and no client follows such a redirect.
        if let location = response.headerFields[.location], location.contains("@") { return false }
        guard !response.mayBeCut else { return false }
        let control = CacheControl(response.headerFields)
        guard mayKeep(response.status, control, configuration) else { return false }
        guard statusAllows(response, control, configuration) else { return false }
        // The response to an authenticated request is for its user alone (§3.5).
        guard configuration.audience == .shared, request.headerFields.contains(.authorization) else { return true }
        return control.contains("must-revalidate") || control.contains("public") || control.contains("s-maxage")
    }

    /// Whether the answer's own directives let it be kept.
    ///
    /// `private` with field names means the whole answer here, which §5.2.2.7 allows.
    static func mayKeep(
        _ status: HTTPResponse.Status, _ control: CacheControl, _ configuration: CachingConfiguration
    ) -> Bool {
        guard configuration.audience == .private || !control.contains("private") else { return false }
        // With `must-understand` the server relies on a cache that knows the status to heed the other directives,
        // and has `no-store` for those that do not (§5.2.2.3).
        if control.contains("must-understand") { return isHeuristicallyCacheable(status) }
        return !control.contains("no-store")
    }

    /// The statuses that may be stored though the answer does not say for how long (RFC 9110 §15.1).
    ///
    /// 206 belongs to them too, but parts are not stored.
    static func isHeuristicallyCacheable(_ status: HTTPResponse.Status) -> Bool {
        switch status.code {
        case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    private static func statusAllows(
        _ response: Response, _ control: CacheControl, _ configuration: CachingConfiguration
    ) -> Bool {
        let code = response.status.code
        switch code {
        case ..<200, 206, 304: return false
        // A challenge belongs to the exchange it came in.
        case 401, 407: return false
        default: break
        }
        if configuration.cacheableStatuses == .success, !(200...299).contains(code) { return false }
        if isHeuristicallyCacheable(response.status) || control.contains("public") { return true }
        if configuration.audience == .private, control.contains("private") { return true }
        return control.contains("max-age") || response.headerFields.contains(.expires)
            || configuration.audience == .shared && control.contains("s-maxage")
    }
}

extension Response {
    /// Whether only the end of a connection without TLS marks the end of the body, which may have been lost as well
    /// (RFC 9111 §3.3, RFC 9112 §8).
    fileprivate var mayBeCut: Bool {
        guard httpVersion.hasPrefix("http/1"), url.scheme == "http", status.code != 204 else { return false }
        return expectedContentLength == nil && !headerFields.contains(.contentLength)
            && !headerFields.contains(.transferEncoding)
    }
}

extension HTTPFields {
    /// Without the fields for the connection only (§3.1).
    var storable: HTTPFields {
        var dropped = Self.connectionFields
        for value in self[values: .connection] {
            for name in value.split(separator: ",") { dropped.insert(name.trimmed.lowercased()) }
        }
        var kept = HTTPFields()
        kept.reserveCapacity(count)
        for field in self where !dropped.contains(field.name.canonicalName) { kept.append(field) }
        return kept
    }

    private static let connectionFields: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "te", "transfer-encoding", "upgrade",
    ]
}
