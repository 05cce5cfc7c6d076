import FetchEngine
import FetchJobs
import HTTPTypes
import Synchronization

/// Decides the questions of one attempt of a job, and keeps the decisions.
///
/// The order is: the rules, the answers that the session remembers, the delegate, and then the rest of the
/// configuration. Limits that no answer can lift are not asked about, and an answer that breaks one is not used.
final class JobDecisions: LoadAdviser {
    /// An origin decides how many questions there are; an attempt's further decisions are made and not kept.
    private static let maximumKept = 256

    private struct State {
        var count = 0
        var kept: [Decision] = []
        /// Whether an answer decided about the response, so that the configuration does not.
        var hasDecidedResponse = false
        /// The parked load that goes on, until its question has come up again.
        var resumed: ResumedLoad?
        /// Whether another load could begin with the job's request as this one did.
        var mayPark = true
        /// The last body of an answer whose bytes are not in the answer.
        var body: JobBody?
        /// Files that were made of such bodies.
        var copies: [String] = []
        /// Whether what the load sends may be sent again when its outcome is unknown.
        var mayRepeat: Bool
        /// Whether the job counts as not begun: its position is stored, and nothing was sent since.
        var isAtPosition = false
    }

    let kinds: LoadQuestion.Kinds
    private let asked: Set<Question.Kind>
    private let rules: RuleBook
    private let memory: AnswerMemory?
    private let asker: (any QuestionAsker)?
    private let credentials: NamedCredentials
    private let content: RequestContent
    /// The methods of authentication that may be answered; nil for all.
    private let methods: FetchJobs.Configuration.Authentication
    /// Whether the body may go to a file.
    private let mayBecomeDownload: Bool
    private let claimed: ClaimedJob
    private let job: Question.Asker
    private let urls: URLForm
    /// The decisions before the load was parked, as a job shows them.
    private let earlier: RawJSON?
    private let terms: JobTerms
    private let begin: Beginning
    private let state: Mutex<State>

    /// Nil when nothing is asked.
    ///
    /// - Parameters:
    ///   - resumed: What the load goes on with, when it was parked.
    ///   - begin: Is called before a request is sent on an answer that must not be repeated (REL-6).
    @inline(never)
    init?(
        of job: ClaimedJob, by terms: JobTerms, asking asker: (any QuestionAsker)?, _ credentials: NamedCredentials,
        _ content: RequestContent, mayBecomeDownload: Bool, resuming resumed: ResumedLoad? = nil,
        beginning begin: @escaping Beginning
    ) {
        let books = [terms.rules] + (terms.session.memory.map { [$0.rules] } ?? [])
        var asked = books.reduce(asker?.kinds ?? []) { $0.union($1.kinds) }
        if let resumed { asked.insert(resumed.question.kind) }
        guard !asked.isEmpty else { return nil }
        self.asked = asked
        self.asker = asker
        claimed = job
        earlier = resumed?.load.decisions
        self.terms = terms
        self.begin = begin
        let method = resumed?.load.position.method
        state = Mutex(
            State(
                count: resumed?.load.decided ?? 0, resumed: resumed, body: resumed?.load.body,
                mayRepeat: terms.mayRepeat && method.map { terms.mayRepeat($0) } ?? true))
        if let resumed { asker?.goOn(after: resumed.load.asked) }
        self.credentials = credentials
        self.content = content
        self.mayBecomeDownload = mayBecomeDownload
        rules = terms.rules
        memory = terms.session.memory
        methods = terms.settings.authentication
        urls = job.spec.request.urlForm
        self.job = Question.Asker(labels: job.spec.labels, attempt: job.tries + 1)
        var kinds = LoadQuestion.Kinds()
        for kind in asked { kinds.formUnion(kind.kinds(of: books, asker)) }
        self.kinds = kinds
    }

    /// The decisions, as they are stored; nil for none.
    var json: RawJSON? {
        let decisions = state.withLock { $0.kept }
        guard !decisions.isEmpty else { return earlier }
        return RawJSON.array { writer in
            if let earlier { writer.elements(of: earlier) }
            for decision in decisions { writer.object(decision.write) }
        }
    }

    /// Whether some answer may make a file of the body.
    var mayMakeFile: Bool {
        mayBecomeDownload
            && (rules.mayBecomeDownload || memory?.rules.mayBecomeDownload == true
                || asker?.kinds.contains(.didReceiveResponse) == true)
    }

    /// Whether what the load sends may be sent again when its outcome is unknown.
    var mayRepeat: Bool { state.withLock { $0.mayRepeat } }

    /// Whether an answer has decided about the response.
    var hasDecidedResponse: Bool { state.withLock { $0.hasDecidedResponse } }

    func asks(_ kind: Question.Kind) -> Bool { asked.contains(kind) }

    // MARK: The engine's questions

    func answer(to question: LoadQuestion, in context: LoadContext) -> LoadAnswer? {
        let asked = self.question(question, in: context)
        guard isOpen(asked) else { return .performDefaultHandling }
        if state.withLock({ $0.resumed != nil }) { return nil }
        if let match = rules.match(asked) {
            guard !match.rule.answer.needsCredential else { return nil }
            return use(match.rule.answer, by: .init(match), nil, on: asked, question, context)
        }
        // New answers are read first, which takes its time.
        guard memory?.isCurrent != false else { return nil }
        if let remembered = memory?.answer(to: asked) {
            guard !remembered.rule.answer.needsCredential else { return nil }
            return use(
                remembered.rule.answer, by: .remembered(remembered.question), nil, on: asked, question, context)
        }
        if asker?.isAsked(asked) == true { return nil }
        note(asked, by: .configuration, .performDefaultHandling)
        return .performDefaultHandling
    }

    func decide(_ question: LoadQuestion, in context: LoadContext) async -> LoadAnswer {
        let asked = self.question(question, in: context, proposing: await idOfProposed(question))
        let decided = await decided(asked) { await context.position(at: question) }
        guard case .useCredential(let named) = decided.answer else {
            let (content, refusal) = await content(of: decided.answer)
            guard refusal == nil else {
                note(asked, by: decided.decider, decided.answer, decided.waited, refusal: refusal)
                return .performDefaultHandling
            }
            return use(decided.answer, by: decided.decider, decided.waited, on: asked, question, context, content)
        }
        let (credential, refusal) = await credential(named, for: question)
        note(asked, by: decided.decider, decided.answer, decided.waited, refusal: refusal)
        return credential.map { .challenge(.useCredential($0)) } ?? .performDefaultHandling
    }

    /// The answer to a question that the worker asks itself.
    ///
    /// - Returns: Nil where the configuration decides.
    func answer(_ subject: Question.Subject, about request: Request) async -> Answer? {
        let question = Question(subject, about: request, of: job)
        guard asked.contains(question.kind) else { return nil }
        let decided = await decided(question) { nil }
        note(question, by: decided.decider, decided.answer, decided.waited)
        return decided.answer == .performDefaultHandling ? nil : decided.answer
    }

    /// The answer to a question by the rules, the remembered answers, or else the delegate.
    ///
    /// - Parameter position: Where the load stands.
    private func decided(
        _ question: Question, at position: @escaping @Sendable () async -> LoadPosition?
    ) async -> DecidedAnswer {
        if let resumed = state.withLock({ $0.resumed.take() }), resumed.isAbout(question, of: claimed) {
            let answer = resumed.answer ?? (asker?.otherwise(question) ?? .performDefaultHandling, .otherwise(.timeout))
            return await begun(DecidedAnswer(answer.0, by: answer.by, waited: resumed.waited))
        }
        if let match = rules.match(question) { return DecidedAnswer(match.rule.answer, by: .init(match)) }
        // An answer that cannot be read is not remembered: then somebody is asked.
        try? await memory?.catchUp()
        if let remembered = memory?.answer(to: question) {
            return DecidedAnswer(remembered.rule.answer, by: .remembered(remembered.question))
        }
        guard let asker, asker.isAsked(question) else {
            return DecidedAnswer(.performDefaultHandling, by: .configuration)
        }
        let decided = await asker.decide(question) { [self] asked in
            guard state.withLock({ $0.mayPark }), let position = await position() else { return nil }
            let (body, count) = state.withLock { ($0.body, $0.count) }
            let load = ParkedLoad(position, body: body, decisions: json, decided: count, asked: asked)
            if load != nil { state.withLock { $0.isAtPosition = true } }
            return load
        }
        return await begun(decided)
    }

    /// Begins what goes on by an answer, where that must not be repeated.
    private func begun(_ decided: DecidedAnswer) async -> DecidedAnswer {
        let mustBegin = state.withLock { state in
            defer { state.isAtPosition = false }
            if state.mayRepeat, let method = decided.answer.request?.method, !terms.mayRepeat(method) {
                state.mayRepeat = false
                return true
            }
            return state.isAtPosition && !state.mayRepeat
        }
        // Where it may not, its switch ends the load.
        if mustBegin, await !begin() { return DecidedAnswer(.performDefaultHandling, by: .configuration) }
        return decided
    }

    /// Keeps the load from being parked: the request that it begins with is not the job's alone.
    func neverPark() { state.withLock { $0.mayPark = false } }

    /// The files that were made of the bodies of answers, which go when the attempt is over.
    var copies: [String] { state.withLock { $0.copies } }

    /// What the body of an answer stands for, or why it cannot be sent; neither where it has none.
    private func content(of answer: Answer) async -> (RequestContent.Prepared?, refusal: String?) {
        guard let body = answer.sentBody else { return (nil, nil) }
        if let inline = RequestContent.Prepared(inline: body) { return (inline, nil) }
        // It goes on where its client sends it.
        if body == .stream { neverPark() }
        do throws(StoreError) {
            let prepared = try await content.prepare(body, of: claimed.tenant)
            state.withLock { state in
                state.body = body
                state.copies += prepared.copies
            }
            return (prepared, nil)
        } catch { return (nil, error.message) }
    }

    /// The request that a delayed job begins with (BEY-3).
    ///
    /// - Throws: `cancelled` when that is the answer.
    nonisolated(nonsending) func beginning(
        _ request: Request, in configuration: AttemptConfiguration
    ) async throws(LoadError) -> Request {
        let isBehind = state.withLock { $0.resumed.map { $0.question.kind != .willBeginDelayedRequest } ?? false }
        guard asked.contains(.willBeginDelayedRequest), !isBehind else { return request }
        let question = Question(.delayedRequest, about: request, of: job)
        let decided = await decided(question) { LoadPosition() }
        var (next, refusal) = (request, String?.none)
        if case .useRequest(let change) = decided.answer {
            var content: RequestContent.Prepared?
            (content, refusal) = await self.content(of: decided.answer)
            if refusal == nil {
                let changed = change.applied(to: request, sending: content)
                refusal = configuration.refusal(of: changed, inPlaceOf: request.url)?.message
                if refusal == nil {
                    next = changed
                    neverPark()
                }
            }
        }
        note(question, by: decided.decider, decided.answer, decided.waited, refusal: refusal)
        if case .cancel = decided.answer {
            throw LoadError(.cancelled, "The delayed request was answered with cancel.")
        }
        return next
    }

    // MARK: From the engine's words to the rules'

    /// The id of the credential that was refused before a challenge, where that is a stored one.
    private func idOfProposed(_ question: LoadQuestion) async -> StoredCredential.ID? {
        guard case .challenge(let challenge) = question, let credential = challenge.proposedCredential else {
            return nil
        }
        return await credentials.id(of: credential, for: challenge.protectionSpace)
    }

    /// - Parameter id: That of the credential that a challenge proposes, if it is stored.
    private func question(
        _ question: LoadQuestion, in context: LoadContext, proposing id: StoredCredential.ID? = nil
    ) -> Question {
        switch question {
        case .redirection(let response, let request, let proposed, let hop):
            let redirection = Question.Redirection(
                response: response, proposed: proposed, hop: hop, maximumHops: context.configuration.redirects.maximum)
            return Question(.redirection(redirection), about: request, of: job)
        case .canonicalization(let request, let proposed, let isStrict):
            let change = Question.Canonicalization(
                original: request.url, written: isStrict ? nil : request.writtenURL, proposed: proposed,
                reason: isStrict ? .strictTransport : .canonical)
            return Question(.canonicalization(change), about: request, of: job)
        case .challenge(let challenge):
            let subject: Question.Subject =
                challenge.serverTrust.map { .serverTrust($0) } ?? .challenge(.init(challenge, proposing: id))
            return Question(subject, about: context.currentRequest, of: job)
        case .response(let response):
            return Question(.response(response, part: nil), about: context.currentRequest, of: job)
        case .bodyStream(let request):
            return Question(
                .body(reason(for: request, in: context), offset: request.bodyOffset), about: request, of: job)
        case .caching(let response, let bytes, let policy):
            let facts = Question.CachingFacts(response: response, bodyBytes: bytes, storagePolicy: policy)
            return Question(.caching(facts), about: context.currentRequest, of: job)
        }
    }

    private func reason(for request: Request, in context: LoadContext) -> Question.BodyReason {
        if request.bodyOffset > 0 { return .resume }
        return switch context.lastStep {
        case .redirected: .redirect
        case .challenged: .challenge
        case .canonicalized, .informed, .awaitedConnectivity, nil: job.attempt > 1 ? .retry : .first
        }
    }

    /// Whether the question may be answered at all; an authentication method that the job forbids is rejected.
    private func isOpen(_ question: Question) -> Bool {
        guard case .challenge(let challenge) = question.subject else { return true }
        return challenge.space.isProxy || methods.allows(challenge.space.method)
    }

    // MARK: From the rules' words to the engine's

    /// - Parameter content: What the body of the answer stands for, where that is not in the answer.
    private func use(
        _ answer: Answer, by decider: Decision.Decider, _ waited: Duration?, on asked: Question,
        _ question: LoadQuestion, _ context: LoadContext, _ content: RequestContent.Prepared? = nil
    ) -> LoadAnswer {
        let content = content ?? answer.sentBody.flatMap { RequestContent.Prepared(inline: $0) }
        let (result, refusal) = translate(answer, on: question, context, content)
        note(asked, by: decider, answer, waited, refusal: refusal)
        if case .response = result { state.withLock { $0.hasDecidedResponse = true } }
        return result
    }

    private func translate(
        _ answer: Answer, on question: LoadQuestion, _ context: LoadContext, _ content: RequestContent.Prepared?
    ) -> (LoadAnswer, refusal: String?) {
        switch answer {
        case .follow(let change):
            guard let (base, proposed) = question.redirected else { return (.performDefaultHandling, nil) }
            guard let change else { return (.redirect(.follow(proposed)), nil) }
            let changed = change.applied(to: proposed, sending: content)
            let refusal = context.configuration.refusal(of: changed, inPlaceOfRedirectFrom: base.url)
            return (refusal == nil ? .redirect(.follow(changed)) : .performDefaultHandling, refusal?.message)
        case .returnResponse: return (.redirect(.returnResponse), nil)
        case .cancel: return (question.cancelled, nil)
        case .continueWithoutCredential: return (.challenge(.continueWithoutCredential), nil)
        case .rejectProtectionSpace, .reject: return (.challenge(.rejectProtectionSpace), nil)
        case .accept:
            guard case .challenge(let challenge) = question, let trust = challenge.serverTrust else { break }
            return (.challenge(.useCredential(Credential(trust: trust))), nil)
        case .allow: return (.response(.allow), nil)
        case .becomeDownload where !mayBecomeDownload && !context.isDownload:
            return (.performDefaultHandling, "The job cannot become a download: its session keeps nothing on a disk.")
        case .becomeDownload: return (.response(.becomeDownload), nil)
        case .useBody: if let content { return (.body(content.body), nil) }
        case .store(let storing):
            let data = storing.body.flatMap { RequestContent.Prepared(inline: $0) }?.body.bytes
            return (
                .caching(.store(userInfo: storing.userInfo, policy: storing.storagePolicy, data: data)), nil
            )
        case .doNotStore: return (.caching(.doNotStore), nil)
        case .performDefaultHandling, .useCredential, .decode, .use, .continueLoading, .useRequest: break
        }
        return (.performDefaultHandling, nil)
    }

    /// The credential of an answer, if it may be sent to the server or proxy of the challenge.
    private func credential(
        _ named: JobCredential, for question: LoadQuestion
    ) async -> (Credential?, refusal: String?) {
        guard case .challenge(let challenge) = question else { return (nil, nil) }
        let opened: NamedCredentials.Opened
        do throws(LoadError) { opened = try await credentials.open(named) } catch { return (nil, error.message) }
        guard opened.covers(challenge.protectionSpace) else {
            return (nil, "The credential is stored for another server (credentialOutOfSpace).")
        }
        guard opened.credential != challenge.proposedCredential else {
            return (nil, "The credential was refused here before.")
        }
        return (opened.credential, nil)
    }

    // MARK: The record of decisions

    private func note(
        _ question: Question, by decider: Decision.Decider, _ answer: Answer, _ waited: Duration? = nil,
        refusal: String? = nil
    ) {
        if case .remembered = decider { memory?.noteUse(for: question.kind) }
        state.withLock { state in
            state.count += 1
            guard state.kept.count < Self.maximumKept else { return }
            state.kept.append(
                Decision(
                    sequence: state.count, question, by: decider, answer, waited: waited, refusal: refusal, urls))
        }
    }
}

extension Decision.Decider {
    fileprivate init(_ match: RuleBook.Match) {
        self = .rule(name: match.rule.name, match.level, index: match.index)
    }
}

extension Answer {
    /// Whether it is given only when a credential has been read.
    fileprivate var needsCredential: Bool { credential != nil }
}

extension LoadQuestion {
    /// The request that is left, and the one that would be made.
    fileprivate var redirected: (from: Request, proposed: Request)? {
        switch self {
        case .redirection(_, let request, let proposed, _), .canonicalization(let request, let proposed, _):
            (request, proposed)
        case .challenge, .response, .bodyStream, .caching: nil
        }
    }

    fileprivate var cancelled: LoadAnswer {
        switch self {
        case .redirection, .canonicalization: .redirect(.cancel)
        case .challenge: .challenge(.cancelAuthenticationChallenge)
        case .response: .response(.cancel)
        case .bodyStream: .body(nil)
        case .caching: .performDefaultHandling
        }
    }
}

extension Question.Kind {
    /// The kinds that the engine has to ask about, so that questions of this kind come up.
    fileprivate func kinds(of rules: [RuleBook], _ asker: (any QuestionAsker)?) -> LoadQuestion.Kinds {
        switch self {
        case .willPerformHTTPRedirection: .redirection
        case .didCanonicalize: .canonicalization
        case .didReceiveChallenge:
            rules.contains(where: \.mayConcernClientCertificates) || asker?.kinds.contains(self) == true
                ? [.challenge, .clientCertificate] : .challenge
        case .didReceiveServerTrust:
            rules.contains(where: \.asksAboutTrustedServers) || asker?.asksAboutTrustedServers == true
                ? [.serverTrust, .trustedServers] : .serverTrust
        case .didReceiveResponse: .response
        case .needNewBodyStream: .bodyStream
        case .willCacheResponse: .caching
        // These come up in the worker.
        case .shouldDecodeSourceData, .decideDestination, .willBeginDelayedRequest: []
        }
    }
}

extension RequestBody {
    fileprivate var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
}
