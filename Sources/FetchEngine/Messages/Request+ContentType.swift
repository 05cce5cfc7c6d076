import HTTPTypes

extension Request {
    /// The request with a `Content-Type` for a file that it sends, unless it has one (UPL-3).
    ///
    /// For other bodies none is invented: only the caller knows their type.
    func withContentType() -> Request {
        guard case .file(let path) = body, !headerFields.contains(.contentType) else { return self }
        var request = self
        request.headerFields[.contentType] = FileExtension.mediaType(ofPath: path) ?? "application/octet-stream"
        return request
    }
}
