package import FetchEngine

/// A choice of a load, with the facts by which it is answered.
///
/// The facts are those of the origin and of the request at hand. Header fields of both may hold secrets: conditions
/// never see them, and the JSON of a question leaves them out.
package struct Question: Sendable {
    package typealias ID = Identifier<QuestionIDKind>

    /// The kind of choice, as in the API, in a rule's `on` and in the database.
    package enum Kind: String, Sendable, CaseIterable {
        /// A server redirects (RED-1).
        case willPerformHTTPRedirection
        /// The URL was put into another form, without a response (RED-7).
        case didCanonicalize
        /// A server or proxy asks for authentication (AUT-8).
        case didReceiveChallenge
        /// A server showed a certificate chain (AUT-28).
        case didReceiveServerTrust
        /// The final head has come, or that of a part (LIF-6).
        case didReceiveResponse
        /// A downloaded file is in a format that can be decoded (DCD-2).
        case shouldDecodeSourceData
        /// A download needs a name for its file (DLD-3).
        case decideDestination
        /// A body that is a stream has to be sent, for the first time or again (UPL-6).
        case needNewBodyStream
        /// A response may be stored (CCH-12).
        case willCacheResponse
        /// The time of a delayed job has come (BEY-3).
        case willBeginDelayedRequest
    }

    /// The subject of the question.
    package enum Subject: Sendable {
        case redirection(Redirection)
        case canonicalization(Canonicalization)
        case challenge(ChallengeFacts)
        case serverTrust(ServerTrust)
        /// - part: The number of the part, from 1, of a body whose parts replace one another; else nil.
        case response(Response, part: Int?)
        case decoding(mimeType: String)
        case destination(suggestedFilename: String, expectedContentLength: Int64?)
        case body(BodyReason, offset: Int64)
        case caching(CachingFacts)
        case delayedRequest
    }

    /// The job whose load asks, as far as conditions look at it.
    package struct Asker: Sendable {
        package let labels: [JobSpec.Label]
        /// The number of the attempt, from 1.
        package let attempt: Int

        package init(labels: [JobSpec.Label] = [], attempt: Int = 1) {
            self.labels = labels
            self.attempt = attempt
        }
    }

    package let subject: Subject
    /// The request that led here; of a redirect the one that was redirected.
    package let request: Request
    package let asker: Asker

    package init(_ subject: Subject, about request: Request, of asker: Asker = Asker()) {
        self.subject = subject
        self.request = request
        self.asker = asker
    }

    package var kind: Kind {
        switch subject {
        case .redirection: .willPerformHTTPRedirection
        case .canonicalization: .didCanonicalize
        case .challenge: .didReceiveChallenge
        case .serverTrust: .didReceiveServerTrust
        case .response: .didReceiveResponse
        case .decoding: .shouldDecodeSourceData
        case .destination: .decideDestination
        case .body: .needNewBodyStream
        case .caching: .willCacheResponse
        case .delayedRequest: .willBeginDelayedRequest
        }
    }

    /// Whether the session's rules, memory and delegate go before the job's (AUT-9).
    package var isSessionLevel: Bool {
        switch subject {
        case .serverTrust: true
        case .challenge(let challenge): challenge.space.method.isSessionLevel
        default: false
        }
    }
}

package enum QuestionIDKind: IdentifierKind {
    package static let prefix = "qst"
}

// MARK: Facts

extension Question {
    /// A redirect that a server asks for.
    package struct Redirection: Sendable {
        package let response: Response
        /// The next request.
        package let proposed: Request
        /// The number of the redirect, from 1.
        package let hop: Int
        /// How many the load follows at most.
        package let maximumHops: Int

        package init(response: Response, proposed: Request, hop: Int, maximumHops: Int) {
            self.response = response
            self.proposed = proposed
            self.hop = hop
            self.maximumHops = maximumHops
        }
    }

    /// A change of a URL's form that no server asked for.
    package struct Canonicalization: Sendable {
        package enum Reason: String, Sendable {
            /// The standard form of the same URL.
            case canonical
            /// The host must be reached by https alone (RFC 6797).
            case strictTransport
        }

        package let original: URLRecord
        /// The original as it was written, where its standard form is another text.
        package let written: String?
        /// The proposed request.
        package let proposed: Request
        package let reason: Reason

        package init(original: URLRecord, written: String? = nil, proposed: Request, reason: Reason) {
            self.original = original
            self.written = written
            self.proposed = proposed
            self.reason = reason
        }
    }

    /// The facts of a challenge, without a secret.
    package struct ChallengeFacts: Sendable {
        package let space: ProtectionSpace
        package let previousFailureCount: Int
        /// The user of the credential that failed last here; nil when none was tried.
        package let proposedUser: String?
        /// The id of that credential; nil unless it is a stored one.
        package let proposedID: StoredCredential.ID?
        package let failureResponse: Response?
        /// The other methods that the server offers, strongest first.
        package let offered: [ProtectionSpace.Method]

        /// - Parameter id: That of the proposed credential, if it is stored.
        package init(_ challenge: Challenge, proposing id: StoredCredential.ID? = nil) {
            space = challenge.protectionSpace
            previousFailureCount = challenge.previousFailureCount
            proposedUser = challenge.proposedCredential?.user
            proposedID = id
            failureResponse = challenge.failureResponse
            offered = challenge.offeredSpaces.map(\.method)
        }
    }

    /// Why a body has to be sent.
    package enum BodyReason: String, Sendable, CaseIterable {
        case first
        case challenge
        case redirect
        case retry
        case resume
    }

    /// A response that may be stored.
    package struct CachingFacts: Sendable {
        package let response: Response
        package let bodyBytes: Int64
        package let storagePolicy: CachedResponse.StoragePolicy

        package init(response: Response, bodyBytes: Int64, storagePolicy: CachedResponse.StoragePolicy) {
            self.response = response
            self.bodyBytes = bodyBytes
            self.storagePolicy = storagePolicy
        }
    }
}

// MARK: The facts for conditions

extension Question {
    /// The response that the question is about, if it is about one.
    package var response: Response? {
        switch subject {
        case .redirection(let redirection): redirection.response
        case .challenge(let challenge): challenge.failureResponse
        case .response(let response, _): response
        case .caching(let facts): facts.response
        case .canonicalization, .serverTrust, .decoding, .destination, .body, .delayedRequest: nil
        }
    }

    /// The URL that is left.
    var from: URLRecord? {
        switch subject {
        case .redirection: request.url
        case .canonicalization(let change): change.original
        default: nil
        }
    }

    /// The URL that would be loaded next.
    var to: URLRecord? {
        switch subject {
        case .redirection(let redirection): redirection.proposed.url
        case .canonicalization(let change): change.proposed.url
        default: nil
        }
    }

    var mimeType: String? {
        if case .decoding(let type) = subject { type } else { response?.mimeType }
    }

    var contentLength: Int64? {
        switch subject {
        case .response(let response, _): response.expectedContentLength
        case .destination(_, let length): length
        case .caching(let facts): facts.bodyBytes
        default: nil
        }
    }

    var suggestedFilename: String? {
        switch subject {
        case .response(let response, _): response.suggestedFilename
        case .destination(let name, _): name
        default: nil
        }
    }

    var challenge: ChallengeFacts? { if case .challenge(let facts) = subject { facts } else { nil } }

    var serverTrust: ServerTrust? { if case .serverTrust(let trust) = subject { trust } else { nil } }

    var hop: Int? { if case .redirection(let redirection) = subject { redirection.hop } else { nil } }
}
