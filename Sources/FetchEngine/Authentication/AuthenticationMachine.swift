/// Decides about the challenges of one task.
///
/// Owns no connection, no store and no delegate. The order is: the user name and password of the URL, the credentials
/// of the store, the delegate.
struct AuthenticationMachine {
    /// The next action.
    enum Action: Equatable {
        /// Look for the default credential of a space; ``lookedUp(_:)`` takes it.
        case lookUp(ProtectionSpace)
        /// Ask the delegates; ``answered(_:)`` takes the answer.
        case ask(Question)
        /// Make the request again with this.
        case retry(Attempt)
        /// The response at hand is the result.
        case deliver
        /// End the load with `userCancelledAuthentication`.
        case cancel
    }

    /// The question to the delegates.
    struct Question: Equatable {
        var space: ProtectionSpace
        var proposedCredential: Credential?
        var previousFailureCount: Int
        var offeredSpaces: [ProtectionSpace]
    }

    /// A credential on its way to convince.
    struct Attempt: Equatable {
        /// Where the credential came from.
        enum Source {
            case url, store, delegate
            /// It has convinced before in this task.
            case task
        }

        var space: ProtectionSpace
        var credential: Credential
        var source: Source
        /// Whether it is sent without a challenge.
        var isPreemptive = false

        /// Whether the store must keep it once it is accepted.
        var isToBeKept: Bool { source == .delegate && credential.persistence != .none }
    }

    /// A server that calls each new nonce stale is taken to refuse, at the latest after so many.
    private static let maximumStaleAnswers = 4

    private let schemes: SchemeList

    /// The results of the challenges so far.
    private(set) var results: AuthenticationResults
    /// A stored credential that has failed with the last response.
    private(set) var failedFromStore: Attempt?
    /// The present authorization of requests, for the server and for the proxy.
    private(set) var attempts: [Attempt] = []
    private var staleAnswers = 0
    /// The offers of the response at hand, and those whose default credential was not looked for yet.
    private var offers: [AuthenticationOffer] = []
    private var toLookUp: [AuthenticationOffer] = []

    /// - Parameter results: The results of an earlier load of the same task.
    init(schemes: SchemeList = SchemeList(), results: AuthenticationResults = .init()) {
        self.schemes = schemes
        self.results = results
    }

    var failureCount: Int { results.failureCount }

    /// Uses the user name and password of a URL, from now on and for its server alone.
    mutating func use(userinfoOf url: URLRecord) {
        results.ofURL = Credential(userinfoOf: url).map { .init(server: .init(server: url), credential: $0) }
    }

    // MARK: Before a request

    /// The credential that was accepted in a space during this task, or comes with the URL.
    func known(for space: ProtectionSpace) -> Credential? {
        if let credential = results.accepted[space] { return credential }
        guard let ofURL = results.ofURL, ofURL.server == .init(space) else { return nil }
        return schemes.accepts(ofURL.credential, for: space.method) ? ofURL.credential : nil
    }

    /// Sends a credential before anyone asks for it, inside a space that is known.
    mutating func sendPreemptively(_ credential: Credential, from source: Attempt.Source, for space: ProtectionSpace) {
        guard schemes.accepts(credential, for: space.method), !results.rejected.contains(space),
            results.failed[space] != credential
        else { return }
        note(Attempt(space: space, credential: credential, source: source, isPreemptive: true))
    }

    // MARK: After a response

    /// A response came that asks, with at least one offer, or none when it is an ordinary one.
    mutating func challenged(by offers: [AuthenticationOffer]) -> Action {
        failedFromStore = nil
        guard let first = offers.first else { return .deliver }
        let isProxy = first.space.isProxy
        if let attempt = attempts.first(where: { $0.space.isProxy == isProxy }) {
            if let again = staleAttempt(attempt, offers) { return again }
            attempts.removeAll { $0.space.isProxy == isProxy }
            // Beside the space it was for, a preemptive credential has proved nothing.
            if !attempt.isPreemptive || offers.contains(where: { $0.space == attempt.space }) { fail(attempt) }
        }
        self.offers = offers.filter { !results.rejected.contains($0.space) }
        toLookUp = self.offers
        return usingURL() ?? usingAccepted() ?? next()
    }

    /// The default credential of the space that ``Action/lookUp(_:)`` named.
    mutating func lookedUp(_ credential: Credential?) -> Action {
        let offer = toLookUp.removeFirst()
        guard let credential, schemes.accepts(credential, for: offer.space.method),
            credential != results.failed[offer.space]
        else {
            return next()
        }
        return retry(Attempt(space: offer.space, credential: credential, source: .store))
    }

    /// The answer to ``Action/ask(_:)``.
    ///
    /// A credential that cannot be said in the scheme rejects the space.
    mutating func answered(_ disposition: Challenge.Disposition) -> Action {
        guard let offer = offers.first else { return .deliver }
        switch disposition {
        case .useCredential(let credential) where schemes.accepts(credential, for: offer.space.method):
            return retry(Attempt(space: offer.space, credential: credential, source: .delegate))
        case .useCredential, .rejectProtectionSpace:
            results.rejected.insert(offer.space)
            offers.removeFirst()
            return next()
        case .performDefaultHandling, .continueWithoutCredential: return .deliver
        case .cancelAuthenticationChallenge: return .cancel
        }
    }

    /// The authorization for the server.
    var attempt: Attempt? { attempts.first { !$0.space.isProxy } }
    /// The authorization for the proxy.
    var proxyAttempt: Attempt? { attempts.first { $0.space.isProxy } }

    /// The hop has its result without a request: nothing has convinced, and the next hop carries nothing of it.
    mutating func withdraw() { attempts = [] }

    /// The preemptive credential could not be expressed after all.
    mutating func takeBack(_ attempt: Attempt) { attempts.removeAll { $0 == attempt } }

    /// The attempt could not even be made, for lack of a ticket for example.
    ///
    /// The delegate may know better than the store. A failure of a credential from the delegate itself rejects the
    /// space, and another scheme is next; but for Negotiate, where a wrong password shows here, the delegate is asked
    /// again as after any failure, unless there is another scheme that the credential can be said in, or it gives the
    /// same once more.
    mutating func couldNotBegin(_ attempt: Attempt) -> Action {
        takeBack(attempt)
        let hasOther = offers.contains {
            $0.space != attempt.space && schemes.accepts(attempt.credential, for: $0.space.method)
        }
        let isRefused = attempt.source == .delegate && attempt.space.method == .negotiate && !hasOther
        if isRefused { results.failureCount += 1 }
        guard attempt.source == .delegate, !isRefused || results.failed[attempt.space] == attempt.credential else {
            results.failed[attempt.space] = attempt.credential
            if attempt.source == .url { results.ofURL = nil }
            return next()
        }
        results.rejected.insert(attempt.space)
        offers.removeAll { $0.space == attempt.space }
        toLookUp.removeAll { $0.space == attempt.space }
        return next()
    }

    /// Accepts the credentials of the request, whose response is the result of the hop; the next hop carries none of
    /// them.
    ///
    /// Returns the accepted attempts. An error of the server's own proves nothing.
    mutating func convinced(status: Int) -> [Attempt] {
        defer { attempts = [] }
        staleAnswers = 0
        guard status < 500 else { return [] }
        // A 401 without an answer has at least passed the proxy.
        let proven = attempts.filter { status == 401 ? $0.space.isProxy : status != 407 }
        for attempt in proven {
            results.accepted[attempt.space] = attempt.credential
            results.failed[attempt.space] = nil
        }
        return proven
    }

    /// A request carries one credential for the server and one for the proxy.
    private mutating func note(_ attempt: Attempt) {
        attempts.removeAll { $0.space.isProxy == attempt.space.isProxy }
        attempts.append(attempt)
    }

    private mutating func retry(_ attempt: Attempt) -> Action {
        note(attempt)
        return .retry(attempt)
    }

    /// The same credential once more, when only the nonce was too old (RFC 7616 §3.3).
    private mutating func staleAttempt(_ attempt: Attempt, _ offers: [AuthenticationOffer]) -> Action? {
        guard let offer = offers.first(where: { $0.space == attempt.space }), let digest = offer.digest else {
            return nil
        }
        // A preemptive answer used a nonce of an earlier task; not every server says that it is stale.
        guard digest.isStale || attempt.isPreemptive, staleAnswers < Self.maximumStaleAnswers else { return nil }
        staleAnswers += 1
        var again = attempt
        again.isPreemptive = false
        return retry(again)
    }

    private mutating func fail(_ attempt: Attempt) {
        results.failureCount += 1
        staleAnswers = 0
        results.failed[attempt.space] = attempt.credential
        if results.accepted[attempt.space] == attempt.credential { results.accepted[attempt.space] = nil }
        if attempt.source == .url { results.ofURL = nil }
        if attempt.source == .store { failedFromStore = attempt }
    }

    private mutating func usingURL() -> Action? {
        guard let ofURL = results.ofURL else { return nil }
        let offer = offers.first { offer in
            // Tickets for a password of a URL would be fetched from a realm that was never named.
            offer.space.method != .negotiate && ofURL.server == .init(offer.space)
                && schemes.accepts(ofURL.credential, for: offer.space.method)
        }
        guard let offer else { return nil }
        return retry(Attempt(space: offer.space, credential: ofURL.credential, source: .url))
    }

    private mutating func usingAccepted() -> Action? {
        for offer in offers {
            if let credential = results.accepted[offer.space] {
                return retry(Attempt(space: offer.space, credential: credential, source: .task))
            }
        }
        return nil
    }

    private func next() -> Action {
        if let offer = toLookUp.first { return .lookUp(offer.space) }
        guard let offer = offers.first else { return .deliver }
        return .ask(
            Question(
                space: offer.space, proposedCredential: results.failed[offer.space], previousFailureCount: failureCount,
                offeredSpaces: offers.map(\.space)))
    }
}
