import HTTPTypes

extension Response {
    /// A name for a file that holds the body, safe to use as it is.
    ///
    /// In this order: `filename*` and `filename` of `Content-Disposition` (RFC 6266), the last component of the
    /// URL's path, `download` with an extension for the media type. Directories, leading dots, control and
    /// bidirectional characters, and device names are taken out; the name has at most 200 bytes.
    public var suggestedFilename: String { safeFilename.text }

    /// ``suggestedFilename`` as the type that proves it is safe.
    var safeFilename: Filename {
        dispositionFilename ?? urlFilename ?? Filename.unnamed(mediaType: mimeType)
    }

    private var dispositionFilename: Filename? {
        guard let field = headerFields[fields: .contentDisposition].first else { return nil }
        return field.withUnsafeBytesOfValue { ContentDisposition($0).filename }.flatMap(Filename.init(sanitizing:))
    }

    private var urlFilename: Filename? {
        // A data URL has its content in the place of a path.
        guard url.scheme != "data", let segment = url.path.utf8.split(separator: UInt8(ascii: "/")).last
        else { return nil }
        let decoded = percentDecoded(Array(segment)[...])
        // Escapes that are no UTF-8 stay escaped.
        return Filename(sanitizing: String(validating: decoded, as: UTF8.self) ?? String(Substring(segment)))
    }
}
