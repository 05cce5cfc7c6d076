import HTTPTypes

/// Decides how the response to the request for the rest of a download is used.
///
/// The one rule above all: bytes of two different states of a resource never meet in one file. A response that is not
/// proven to be the rest of the partial file starts from zero.
struct ResumeMachine {
    /// The action on the response.
    enum Action: Equatable {
        /// Append its body to the partial file; the length of the whole, when it is known.
        case resume(offset: Int64, total: Int64?)
        /// Drop the partial file; this response is a whole one.
        case startOver
        /// Drop the partial file and this response too; ask again, for the whole.
        case askAgain
        /// The partial file is complete.
        case complete
    }

    let data: ResumeData
    /// Whether another URL may give the rest.
    private let acrossURLs: Bool
    /// Set once the rest was refused, so that it is asked for once only.
    private var hasGivenUp = false

    init(_ data: ResumeData, acrossURLs: Bool = false) {
        self.data = data
        self.acrossURLs = acrossURLs
    }

    /// The request for the rest: `Range` and `If-Range`, and the coding that the first part came in.
    ///
    /// RFC 9110 §13.1.5 and §14.2. Nil once the rest was refused.
    func request(_ original: Request) -> Request? {
        guard !hasGivenUp else { return nil }
        var request = original
        request.headerFields[.range] = ByteRange.field(from: data.byteCount)
        request.headerFields[.ifRange] = data.validator.condition
        request.headerFields[.acceptEncoding] = data.contentCoding.isEmpty ? "identity" : data.contentCoding
        return request
    }

    /// Decides about a response that is no redirect and no challenge.
    mutating func received(_ response: Response) -> Action {
        guard !hasGivenUp else { return .startOver }
        switch response.status.code {
        case 206: return partial(response)
        case 416: return unsatisfiable(response)
        case 412: return giveUp()
        // A 200 means that the resource has changed, or that the server knows no ranges.
        default: return .startOver
        }
    }

    private mutating func partial(_ response: Response) -> Action {
        guard let field = response.headerFields[.contentRange], let content = ContentRange(field),
            let range = content.range, range.lowerBound == data.byteCount,
            content.total == nil || data.totalCount == nil || content.total == data.totalCount,
            content.total.map({ range.upperBound == $0 - 1 }) ?? true,
            response.expectedContentLength.map({ $0 == Int64(range.count) }) ?? true,
            isSameResource(response, of: content.total), response.contentCoding == data.contentCoding
        else { return giveUp() }
        return .resume(offset: data.byteCount, total: content.total ?? data.totalCount)
    }

    /// A range behind the end is no error when all is there already.
    private mutating func unsatisfiable(_ response: Response) -> Action {
        guard let field = response.headerFields[.contentRange], let content = ContentRange(field),
            content.range == nil, content.total == data.byteCount, data.totalCount == data.byteCount,
            isSameResource(response, of: content.total)
        else { return giveUp() }
        return .complete
    }

    private mutating func giveUp() -> Action {
        hasGivenUp = true
        return .askAgain
    }

    /// A redirect may lead elsewhere by now, where the same tag may mean something else; a mirror has the same length too.
    private func isSameResource(_ response: Response, of total: Int64?) -> Bool {
        let url = response.url
        let isSameURL = url.origin == data.finalURL.origin && url.path == data.finalURL.path
        guard isSameURL || acrossURLs && total != nil && total == data.totalCount else { return false }
        switch data.validator {
        // A 206 must repeat the tag (RFC 9110 §15.3.7). The date it may leave out, but a server that knows no If-Range
        // could not be told from one that does; starting over is the smaller harm.
        case .entityTag(let tag): return response.headerFields[.eTag] == tag
        case .lastModified(let date): return response.headerFields[.lastModified] == date
        }
    }
}

extension ResumeData.Validator {
    /// The value of `If-Range`.
    fileprivate var condition: String {
        switch self {
        case .entityTag(let value), .lastModified(let value): value
        }
    }
}
