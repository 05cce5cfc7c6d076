package import FetchEngine
package import HTTPTypes

/// The choice at a question.
package enum Answer: Sendable, Equatable {
    /// As the configuration's own policy says.
    case performDefaultHandling
    /// The proposed request is made, with changes if there are any.
    case follow(RequestChange?)
    /// The redirect response is the result.
    case returnResponse
    /// The load ends: `cancelled`, or of a challenge `userCancelledAuthentication`.
    case cancel
    case useCredential(JobCredential)
    case continueWithoutCredential
    case rejectProtectionSpace
    /// Exactly this chain for this origin.
    case accept
    case reject
    case allow
    case becomeDownload
    /// Whether the file is decoded.
    case decode(Bool)
    /// The name of the file; nil for the suggested one.
    case use(filename: String?, overwrite: Bool)
    case useBody(JobBody)
    case store(Storing)
    case doNotStore
    case continueLoading
    case useRequest(RequestChange)

    /// The name of an answer in JSON.
    package enum Word: String, Sendable, CaseIterable {
        case performDefaultHandling, follow, returnResponse, cancel
        case useCredential, continueWithoutCredential, rejectProtectionSpace
        case accept, reject
        case allow, becomeDownload
        case yes, no
        case use
        case useBody
        case store, doNotStore
        case continueLoading, useRequest
    }

    /// The changes of a response before it is stored.
    package struct Storing: Sendable, Equatable {
        package var userInfo: [String: String]?
        /// One that is no laxer than the proposed one.
        package var storagePolicy: CachedResponse.StoragePolicy?
        /// In place of the response's own; header fields stay the origin's.
        package var body: JobBody?

        package init() {}
    }

    package var word: Word {
        switch self {
        case .performDefaultHandling: .performDefaultHandling
        case .follow: .follow
        case .returnResponse: .returnResponse
        case .cancel: .cancel
        case .useCredential: .useCredential
        case .continueWithoutCredential: .continueWithoutCredential
        case .rejectProtectionSpace: .rejectProtectionSpace
        case .accept: .accept
        case .reject: .reject
        case .allow: .allow
        case .becomeDownload: .becomeDownload
        case .decode(let isWanted): isWanted ? .yes : .no
        case .use: .use
        case .useBody: .useBody
        case .store: .store
        case .doNotStore: .doNotStore
        case .continueLoading: .continueLoading
        case .useRequest: .useRequest
        }
    }

    /// The credential that the answer gives, if any.
    package var credential: JobCredential? {
        if case .useCredential(let credential) = self { credential } else { nil }
    }
}

extension Question.Kind {
    /// The words that can answer.
    package var words: [Answer.Word] {
        switch self {
        case .willPerformHTTPRedirection: [.follow, .returnResponse, .cancel, .performDefaultHandling]
        case .didCanonicalize: [.follow, .cancel, .performDefaultHandling]
        case .didReceiveChallenge:
            [
                .useCredential, .continueWithoutCredential, .rejectProtectionSpace, .cancel, .performDefaultHandling,
            ]
        case .didReceiveServerTrust: [.accept, .reject, .performDefaultHandling]
        case .didReceiveResponse: [.allow, .becomeDownload, .cancel, .performDefaultHandling]
        case .shouldDecodeSourceData: [.yes, .no, .performDefaultHandling]
        case .decideDestination: [.use, .cancel, .performDefaultHandling]
        case .needNewBodyStream: [.useBody, .cancel, .performDefaultHandling]
        case .willCacheResponse: [.store, .doNotStore, .performDefaultHandling]
        case .willBeginDelayedRequest: [.continueLoading, .useRequest, .cancel, .performDefaultHandling]
        }
    }
}

/// The changes of a proposed request by an answer; members that are nil change nothing.
///
/// Sensitive fields of the proposed request stay, unless the change has fields of their names.
package struct RequestChange: Sendable, Equatable {
    package enum Body: Sendable, Equatable {
        case none
        case content(JobBody)
    }

    package var url: URLRecord?
    package var method: HTTPRequest.Method?
    /// In place of all that are not sensitive.
    package var headers: HTTPFields?
    package var body: Body?
    package var cachePolicy: CachePolicy?

    package init() {}
}
