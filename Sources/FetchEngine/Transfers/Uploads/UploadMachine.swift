import HTTPTypes

/// Decides how a broken upload is resumed (draft-ietf-httpbis-resumable-upload, interoperability version 6).
///
/// The server is asked how much it has, and then sent the rest. When it knows nothing of the upload any more, all of it
/// is sent again.
struct UploadMachine {
    private enum Step { case asking, appending, over }

    /// The version of the draft that is spoken, as the URL Loading System does.
    static let version = "6"
    /// How often the server may say that it has another part than it said before.
    private static let maximumQuestions = 3

    let data: UploadResumeData
    /// The upload as a whole.
    let whole: Request
    private var step = Step.asking
    private var questions = 1

    init(_ data: UploadResumeData, whole: Request) {
        self.data = data
        self.whole = whole
    }

    /// The request for how much the server has.
    var question: Request {
        var request = RedirectMachine.next(whole, to: data.uploadURL, status: .permanentRedirect, preserving: true)
        request.method = .head
        request.body = nil
        // The first request has carried the fields that describe the content, and the precondition.
        for name in RedirectMachine.contentFields { request.headerFields[fields: name] = [] }
        request.setPrecondition(nil)
        request.headerFields[.uploadDraftInteropVersion] = Self.version
        return request
    }

    /// The request to make after a response; nil when it is the final one.
    mutating func received(_ response: Response) -> Request? {
        switch step {
        case .asking: return answered(response)
        case .appending:
            guard response.status == .conflict, questions < Self.maximumQuestions else { return nil }
            questions += 1
            step = .asking
            return question
        case .over: return nil
        }
    }

    private mutating func answered(_ response: Response) -> Request? {
        switch response.status.code {
        case 200..<300 where response.headerFields[.uploadComplete] == "?1": return nil
        case 200..<300:
            guard let field = response.headerFields[.uploadOffset], let offset = Int64(field), offset >= 0,
                whole.expectedBodyLength.map({ offset <= $0 }) ?? true
            else { return startOver() }
            step = .appending
            return rest(from: offset)
        case 400..<500: return startOver()
        default: return nil
        }
    }

    private mutating func startOver() -> Request? {
        step = .over
        return whole
    }

    private func rest(from offset: Int64) -> Request {
        var request = question
        request.method = .patch
        request.body = whole.body ?? .bytes([])
        request.bodyOffset = offset
        request.headerFields[.contentType] = "application/partial-upload"
        request.headerFields[.uploadOffset] = "\(offset)"
        request.headerFields[.uploadComplete] = "?1"
        return request
    }
}

extension Request {
    /// The request with the fields that ask the server to keep the received part of the body, should the upload break
    /// off.
    ///
    /// Not for a body in a content coding: the number of its received bytes does not tell how much content they hold.
    func withResumability() -> Request {
        guard body != nil, bodyCoding == nil, url.isHTTP,
            headerFields[.uploadComplete] == nil
        else { return self }
        var request = self
        request.headerFields[.uploadComplete] = "?1"
        request.headerFields[.uploadDraftInteropVersion] = UploadMachine.version
        return request
    }
}

extension HTTPResponse.Status {
    /// Upload Resumption Supported.
    static let uploadResumptionSupported = 104
}

extension HTTPField.Name {
    static let uploadComplete = Self("Upload-Complete")!
    static let uploadOffset = Self("Upload-Offset")!
    static let uploadDraftInteropVersion = Self("Upload-Draft-Interop-Version")!
}
