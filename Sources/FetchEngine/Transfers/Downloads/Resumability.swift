import HTTPTypes

/// Whether a download could go on later if it stopped now.
package enum Resumability: Equatable, Sendable {
    /// It could, and this tells whether the resource is still the same.
    case resumable(ResumeData.Validator)
    /// It could not, for this reason.
    case notResumable(Reason)

    /// Why a download cannot go on.
    package enum Reason: String, Sendable {
        /// Only GET is repeated.
        case method
        /// Only a 200 or 206 response is a resource.
        case status
        /// There is no strong validator to ask with.
        case validator
        /// The server says that it does not serve ranges.
        case ranges
        /// The file is decoded while it comes, and the decoder cannot start in the middle.
        case decoding
    }

    /// Judges a response and how its body is stored.
    ///
    /// - Parameter decoder: The decoder that the body goes through, if any.
    init(request: Request, response: Response, decoder: (any BodyDecoder.Type)?) {
        self =
            if request.method != .get || request.body != nil {
                .notResumable(.method)
            } else if response.status.code != 200 && response.status.code != 206 {
                .notResumable(.status)
            } else if let decoder, !decoder.canResume {
                .notResumable(.decoding)
            } else if response.headerFields[.acceptRanges]?.lowercased() == "none" {
                .notResumable(.ranges)
            } else if let validator = ResumeData.Validator(response) {
                .resumable(validator)
            } else {
                .notResumable(.validator)
            }
    }
}

extension ResumeData.Validator {
    /// The strongest validator of a response; nil when it has none that `If-Range` may carry.
    init?(_ response: Response) {
        if let tag = response.headerFields[.eTag], tag.hasPrefix("\""), tag.hasSuffix("\""), tag.utf8.count > 2 {
            self = .entityTag(tag)
        } else if let date = response.headerFields[.lastModified], Self.isStrong(date, response) {
            self = .lastModified(date)
        } else {
            return nil
        }
    }

    /// A date is strong when the resource cannot have changed again within its second (RFC 9110 §8.8.2.2).
    private static func isStrong(_ lastModified: String, _ response: Response) -> Bool {
        // FTP has no clock in its answers; the file's length is compared as well.
        if response.httpVersion == "ftp" { return true }
        let now = UnixTime.now
        guard let modified = HTTPDate.time(lastModified, now: now), let date = response.headerFields[.date],
            let sent = HTTPDate.time(date, now: now)
        else { return false }
        return sent > modified
    }
}
