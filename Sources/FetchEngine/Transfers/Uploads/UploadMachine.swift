import HTTPTypes

/// Decides how an upload is made by tus, and how a broken one is resumed by either protocol.
///
/// The server is asked how much it has, and then sent the rest. When it knows nothing of the upload any more, all of it
/// is sent again.
struct UploadMachine {
    private enum Step { case creating, asking, appending, over }

    /// The version of the draft that is spoken, as the URL Loading System does.
    static let version = "6"
    /// How often the server may say that it has another part than it said before.
    private static let maximumQuestions = 3

    /// The upload as a whole.
    let whole: Request
    /// Nil before the server has said where it keeps the upload.
    private(set) var data: UploadResumeData?
    private let uploadProtocol: UploadProtocol
    private var step: Step
    private var questions = 1

    init(_ data: UploadResumeData, whole: Request) {
        (self.data, self.whole, step) = (data, whole, .asking)
        uploadProtocol = data.uploadProtocol
    }

    /// Makes an upload by tus; nil for one whose length is not known, which the server has to be told.
    init?(creating whole: Request) {
        guard whole.body != nil, whole.expectedBodyLength != nil, whole.url.isHTTP else { return nil }
        (self.whole, step, uploadProtocol) = (whole, .creating, .tus)
    }

    /// The request that it begins with.
    var firstRequest: Request { data.map { question(at: $0.uploadURL) } ?? creation }

    /// The request to make after a response; nil when it is the final one.
    mutating func received(_ response: Response) -> Request? {
        switch step {
        case .creating: return created(response)
        case .asking: return answered(response)
        case .appending:
            guard response.status == .conflict, questions < Self.maximumQuestions, let data else { return nil }
            questions += 1
            step = .asking
            return question(at: data.uploadURL)
        case .over: return nil
        }
    }

    /// A server that takes the request and does not say where it keeps the upload does not speak the protocol.
    private mutating func created(_ response: Response) -> Request? {
        guard (200..<300).contains(response.status.code) else { return nil }
        guard response.status == .created, let location = response.headerFields[values: .location].first,
            let url = try? response.url.resolve(location), url.isHTTP, !url.hasCredentials,
            url.scheme == "https" || response.url.scheme == "http"
        else {
            step = .over
            return whole
        }
        data = UploadResumeData(request: whole, uploadURL: url.withoutFragment(), by: uploadProtocol)
        step = .appending
        return rest(from: 0, at: url)
    }

    private mutating func answered(_ response: Response) -> Request? {
        switch response.status.code {
        case 200..<300 where response.headerFields[.uploadComplete] == "?1": return nil
        case 200..<300:
            guard let field = response.headerFields[.uploadOffset], let offset = Int64(field), offset >= 0,
                let data, whole.expectedBodyLength.map({ offset <= $0 }) ?? true
            else { return startOver() }
            // tus has no other sign that an upload is complete.
            guard uploadProtocol == .draft || offset != whole.expectedBodyLength else { return nil }
            step = .appending
            return rest(from: offset, at: data.uploadURL)
        case 400..<500: return startOver()
        default: return nil
        }
    }

    private mutating func startOver() -> Request? {
        step = uploadProtocol == .tus ? .creating : .over
        return uploadProtocol == .tus ? creation : whole
    }

    // MARK: Requests

    /// The request that makes an upload of tus.
    private var creation: Request {
        var request = withoutContent(to: whole.url)
        request.method = .post
        request.headerFields[.uploadLength] = whole.expectedBodyLength.map { "\($0)" }
        return request
    }

    /// The request for how much the server has.
    private func question(at url: URLRecord) -> Request {
        var request = withoutContent(to: url)
        request.method = .head
        // The first request has carried the precondition.
        request.setPrecondition(nil)
        return request
    }

    private func rest(from offset: Int64, at url: URLRecord) -> Request {
        var request = question(at: url)
        request.method = .patch
        request.body = whole.body ?? .bytes([])
        request.bodyOffset = offset
        request.headerFields[.contentType] = uploadProtocol.partType
        request.headerFields[.uploadOffset] = "\(offset)"
        if uploadProtocol == .draft { request.headerFields[.uploadComplete] = "?1" }
        return request
    }

    /// The upload's request without its body and the fields that describe that.
    private func withoutContent(to url: URLRecord) -> Request {
        var request = RedirectMachine.next(whole, to: url, status: .permanentRedirect, preserving: true)
        request.body = nil
        for name in RedirectMachine.contentFields { request.headerFields[fields: name] = [] }
        request.headerFields[uploadProtocol.version.name] = uploadProtocol.version.value
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
            headerFields[.uploadComplete] == nil, headerFields[.tusResumable] == nil
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
    static let uploadLength = Self("Upload-Length")!
    static let uploadDraftInteropVersion = Self("Upload-Draft-Interop-Version")!
    static let tusResumable = Self("Tus-Resumable")!
}
