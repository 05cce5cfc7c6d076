import HTTPTypes

/// The content codings that a request body can be sent in (RFC 9110 §8.4).
///
/// A client cannot know beforehand whether a server accepts a coding; a server that does not answers 415.
public enum BodyCoding: String, Sendable, Hashable, Codable, CaseIterable {
    /// `gzip` (RFC 1952).
    case gzip
    /// `zstd` (RFC 8878).
    case zstd
}

extension Request {
    /// The request with the fields that a coded body has (BEY-30).
    func withContentCoding() -> Request {
        guard let bodyCoding, body != nil else { return self }
        var request = self
        let before = headerFields[.contentEncoding].map { "\($0), " } ?? ""
        request.headerFields[.contentEncoding] = before + bodyCoding.rawValue
        return request
    }
}
