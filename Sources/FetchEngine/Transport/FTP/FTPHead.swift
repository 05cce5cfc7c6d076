import HTTPTypes

/// Where a download goes on, taken from the request's `Range` and `If-Range`.
struct FTPResumption: Equatable {
    /// The first byte wanted.
    let offset: Int64
    /// Seconds since 1970 after which the file must not have changed; nil when that does not matter.
    let unchangedSince: Int64?

    /// Reads `bytes=N-`: REST knows no other range (RFC 3659 §5).
    ///
    /// A condition that is no date cannot be kept, so then the whole file is wanted.
    init?(_ fields: HTTPFields) {
        guard case .bytes(let offset, through: nil) = ByteRange.specifier(fields[values: .range]), offset > 0 else {
            return nil
        }
        self.offset = offset
        guard let condition = fields[.ifRange] else {
            unchangedSince = nil
            return
        }
        guard let time = FTPTime.seconds(condition) else { return nil }
        unchangedSince = time
    }
}

/// The attributes of a file of an FTP transfer, as a status and fields of HTTP.
///
/// FTP has no status and no fields. The status is 200 as for every scheme that has none (Fetch §4.3), or 206 when the
/// transfer starts at an offset; the fields have the results of SIZE and MDTM, so that readers of a response, and
/// resumed downloads, need not know the protocol.
struct FTPHead: Equatable {
    var path: String
    var isUpload: Bool
    var offset: Int64
    /// The bytes to come; nil when the server does not tell.
    var remainingLength: Int64?
    /// Seconds since 1970; nil when the server does not tell.
    var modified: Int64?

    var status: HTTPResponse.Status { offset > 0 ? .partialContent : .ok }

    /// The length of the body; none for an upload's empty response.
    var expectedLength: Int64? { isUpload ? 0 : isListing ? nil : lengths?.remaining }

    var fields: HTTPFields {
        var fields = HTTPFields()
        guard !isUpload else { return fields }
        guard !isListing else {
            fields[.contentType] = "text/plain"
            return fields
        }
        fields[.acceptRanges] = "bytes"
        if let modified { fields[.lastModified] = FTPTime.text(modified) }
        if let (remaining, total) = lengths {
            fields[.contentLength] = "\(remaining)"
            if offset > 0 { fields[.contentRange] = ByteRange.part(offset..<total).contentRange(of: total) }
        }
        return fields
    }

    /// The bytes to come, and those of the whole file; a server may state any number, and one that none has is not told.
    private var lengths: (remaining: Int64, total: Int64)? {
        guard let remainingLength else { return nil }
        let (total, isTooLarge) = offset.addingReportingOverflow(remainingLength)
        return isTooLarge ? nil : (remainingLength, total)
    }

    /// A path that ends in a slash is a folder, and the body is the server's list of it.
    private var isListing: Bool { path.isEmpty || path.hasSuffix("/") }
}
