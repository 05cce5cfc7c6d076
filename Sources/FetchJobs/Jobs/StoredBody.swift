import FetchEngine

/// A response body that can be read.
package struct StoredBody: Sendable {
    package enum Location: Sendable {
        case inline([UInt8])
        case blob(Blob.ID)
    }

    package let location: Location
    package let bytes: Int64
    package let digest: SHA256Digest
    /// As the origin named it.
    package let contentType: String?
    /// The name for the file of a download; safe to use.
    package let filename: String?

    package init(
        location: Location,
        bytes: Int64,
        digest: SHA256Digest,
        contentType: String?,
        filename: String? = nil
    ) {
        self.filename = filename
        self.location = location
        self.bytes = bytes
        self.digest = digest
        self.contentType = contentType
    }
}

extension StoredBody {
    /// The part of a body that a request gets.
    package struct Part: Sendable, Equatable {
        /// Nil when the requested range lies behind the end.
        package let bytes: Range<Int64>?
        /// The value of `Content-Range`; nil for the whole (RFC 9110 §14.4).
        package let contentRange: String?
    }

    /// The part that a request asks for (RFC 9110 §14).
    ///
    /// - Parameter fields: The values of its `Range` fields. Anything but one range of bytes in right form asks for the
    ///   whole.
    package func part(_ fields: [String]) -> Part {
        let range = ByteRange(fields, length: bytes)
        return Part(
            bytes: range == .unsatisfiable ? nil : range.bytes(of: bytes), contentRange: range.contentRange(of: bytes))
    }
}
