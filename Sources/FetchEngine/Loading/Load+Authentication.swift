import HTTPTypes
import Synchronization

// The credentials of a load: for a request before it is sent, and for the challenges after a response.
extension Load {
    // MARK: Before a request

    /// Takes the user name and password out of a request's URL; a challenge gets them as a credential.
    @inline(never)
    func keepingCredentials(of request: Request) -> Request {
        guard request.url.hasCredentials else { return request }
        authentication.use(userinfoOf: request.url)
        var request = request
        request.url = request.url.withoutCredentials()
        return request
    }

    /// Whether a request may carry a credential: its server is known to want one, or has sent a challenge.
    var mayBeAuthorized: Bool {
        authorization != nil || !authentication.attempts.isEmpty || session.spaces.withLock { !$0.isEmpty }
    }

    /// The authorization of the request; nil for none.
    ///
    /// A request that brings its own `Authorization` is left alone unless a server has refused it.
    func authorization(for request: Request, on loop: isolated TransferLoop) async throws(LoadError) -> Authorization? {
        if let prepared = authorization.take() { return prepared }
        await sendPreemptively(for: request, on: loop)
        guard let attempt = authentication.attempt else { return nil }
        if let authorization = await authorization(by: attempt, for: request, on: loop) { return authorization }
        authentication.takeBack(attempt)
        return nil
    }

    /// Chooses the credential that the request is going to carry, when its server is known to want one.
    func sendPreemptively(for request: Request, on loop: isolated TransferLoop) async {
        guard mayBeAuthorized, authentication.attempt == nil,
            !request.headerFields.contains(.authorization)
        else { return }
        await sendPreemptively(to: request.url, isProxy: false, on: loop)
    }

    /// The same for the HTTP proxy on the way.
    func proxyAuthorization(for request: Request, on loop: isolated TransferLoop) async throws(LoadError)
        -> Authorization?
    {
        if let prepared = proxyAuthorization.take() { return prepared }
        if authentication.proxyAttempt == nil, let place = proxy?.place {
            await sendPreemptively(to: place, isProxy: true, on: loop)
        }
        guard let attempt = authentication.proxyAttempt else { return nil }
        if let authorization = await authorization(by: attempt, for: request, on: loop) { return authorization }
        authentication.takeBack(attempt)
        return nil
    }

    /// Inside a space that is known, the credential is sent without waiting for a challenge (RFC 7617 §2.2).
    private func sendPreemptively(to url: URLRecord, isProxy: Bool, on loop: isolated TransferLoop) async {
        guard let space = session.spaces.withLock({ $0.space(for: url, isProxy: isProxy) }) else { return }
        if let credential = authentication.known(for: space) {
            authentication.sendPreemptively(credential, from: .task, for: space)
        } else if let credential = await defaultCredential(for: space, on: loop) {
            authentication.sendPreemptively(credential, from: .store, for: space)
        }
    }

    /// The owner of the connections that the request may use.
    ///
    /// NTLM authenticates a connection for one user, and so may Negotiate: such connections serve one task.
    var connectionCredential: ConnectionCredential? {
        let attempts = authentication.attempts
        guard !attempts.isEmpty else { return nil }
        let isHandshake = attempts.contains { $0.space.method == .ntlm || $0.space.method == .negotiate }
        return ConnectionCredential(
            credential: authentication.attempt?.credential,
            proxyCredential: authentication.proxyAttempt?.credential,
            owner: isHandshake ? client?.identifier : nil)
    }

    /// Puts an attempt into words; nil when its scheme cannot.
    private func authorization(
        by attempt: AuthenticationMachine.Attempt, for request: Request, on loop: isolated TransferLoop
    ) async -> Authorization? {
        let (space, credential) = (attempt.space, attempt.credential)
        if let scheme = configuration.authentication.schemeList[space.method] {
            return await authorization(by: scheme, attempt, for: request)
        }
        switch space.method {
        case .ntlm: return credential.password.map { .ntlm(user: credential.user, password: $0) }
        case .httpDigest: return await digest(attempt, for: request, on: loop).map { .field($0) }
        case .negotiate: return await negotiate(attempt, on: loop)
        default: return nil
        }
    }

    private nonisolated(nonsending) func authorization(
        by scheme: any AuthenticationScheme, _ attempt: AuthenticationMachine.Attempt, for request: Request
    ) async -> Authorization? {
        let place = self.place(of: attempt.space, for: request.url)
        let challenge = session.spaces.withLock { $0.challenge(of: attempt.space, at: place) }
        let value = await scheme.authorization(for: request, answering: challenge, with: attempt.credential)
        guard let value, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        return .field(Array(value.utf8))
    }

    private func digest(
        _ attempt: AuthenticationMachine.Attempt, for request: Request, on loop: isolated TransferLoop
    ) async -> [UInt8]? {
        let (space, place) = (attempt.space, self.place(of: attempt.space, for: request.url))
        guard let challenge = session.spaces.withLock({ $0.digest(of: space, at: place) }) else { return nil }
        var target = target(of: request, isProxy: space.isProxy)
        if challenge.protection == .authInt {
            // Coded content is made while it is sent, as a stream's is.
            target.contentHash =
                request.bodyCoding == nil
                ? await DigestContent.hash(of: request.body, by: challenge.algorithm) : nil
        }
        let nonce = Self.clientNonce()
        return session.spaces.withLock {
            $0.answer(for: space, at: place, by: attempt.credential, to: target, clientNonce: nonce)
        }
    }

    /// The first line of the request as the party that asks sees it: for a proxy it may be CONNECT.
    private func target(of request: Request, isProxy: Bool) -> DigestSession.Target {
        let url = request.url
        guard isProxy, url.scheme == "https" else {
            return .init(method: request.method.rawValue, uri: url.path + (url.query.map { "?" + $0 } ?? ""))
        }
        return .init(method: "CONNECT", uri: "\(url.host ?? ""):\(url.effectivePort ?? 443)")
    }

    /// Where a space is remembered: with the server of the URL, or with the proxy.
    private func place(of space: ProtectionSpace, for url: URLRecord) -> URLRecord {
        space.isProxy ? proxy?.place ?? url : url
    }

    private static func clientNonce() -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        let bits: (UInt64, UInt64) = (random.next(), random.next())
        return withUnsafeBytes(of: bits) { Base64.encode(Array($0)) }
    }

    private func negotiate(_ attempt: AuthenticationMachine.Attempt, on loop: isolated TransferLoop) async
        -> Authorization?
    {
        if !attempt.space.isProxy { self.negotiation = nil }
        let settings = configuration
        if settings.targetPolicy.isRestricted, settings.authentication.kerberosRealms == nil { return nil }
        // Kerberos names hosts without the brackets of addresses.
        let host = attempt.space.host.trimmingBrackets()
        let negotiation = Negotiation(
            with: attempt.credential, host: host, service: settings.authentication.kerberosService,
            among: settings.authentication.kerberosRealms,
            endPoint: attempt.space.isProxy ? nil : (exchange as? Transfer)?.endPoint,
            delegatingTickets: settings.authentication.delegatesKerberosTickets && !attempt.space.isProxy)
        guard let negotiation, let token = try? await negotiation.step(nil) else { return nil }
        if !attempt.space.isProxy { self.negotiation = negotiation }
        return .field(Array("Negotiate ".utf8) + Base64.encode(token))
    }

    // MARK: After a response

    /// Whether a response asks for authentication, or shows that it was accepted.
    ///
    /// That of a handler is its answer: it asks by its client (PRT-8).
    func isAuthentication(_ response: Response) -> Bool {
        guard !(exchange is HandlerExchange) else { return false }
        return response.status.code == 401 || response.status.code == 407 || !authentication.attempts.isEmpty
    }

    /// Answers a challenge, when the response is one; returns whether to repeat the request.
    ///
    /// - Throws: `userCancelledAuthentication` when a delegate cancels, `badServerResponse` when the server cannot
    ///   prove itself.
    func answersChallenge(
        of response: Response, to request: Request, on loop: isolated TransferLoop
    ) async throws(LoadError) -> Bool {
        let schemes = configuration.authentication.schemeList
        let offers = AuthenticationOffer.all(
            in: response.headerFields, status: response.status.code, schemes: schemes,
            server: .init(server: request.url),
            proxy: proxy.map { .init($0) })
        if try await continuesNegotiation(with: response, on: loop) { return true }
        session.spaces.withLock { spaces in
            for offer in offers {
                spaces.challenged(
                    by: offer, at: place(of: offer.space, for: request.url),
                    isOfProgram: schemes.preference(of: offer.space.method) != nil)
            }
        }
        var action = authentication.challenged(by: offers)
        if let failed = authentication.failedFromStore {
            await credentialStorage.noteFailure(of: failed.credential, for: failed.space)
        }
        while true {
            switch action {
            case .lookUp(let space):
                action = authentication.lookedUp(await defaultCredential(for: space, on: loop))
            case .ask(let question):
                action = authentication.answered(try await answer(to: question, response, on: loop))
            case .retry(let attempt):
                if let authorization = await authorization(by: attempt, for: request, on: loop) {
                    if attempt.space.isProxy {
                        self.proxyAuthorization = authorization
                    } else {
                        self.authorization = authorization
                    }
                    note(.useCredential, to: attempt.space)
                    return true
                }
                action = authentication.couldNotBegin(attempt)
            case .deliver:
                if let space = offers.first?.space { note(.performDefaultHandling, to: space) }
                await convinced(by: response, on: loop)
                return false
            case .cancel:
                if let space = offers.first?.space { note(.cancelAuthenticationChallenge, to: space) }
                throw LoadError(.userCancelledAuthentication, "The delegate cancelled the challenge.")
            }
            try checkCancellation()
        }
    }

    private func note(_ answer: AnsweredChallenge.Answer, to space: ProtectionSpace) {
        let challenge = AnsweredChallenge(
            protectionSpace: space, previousFailureCount: authentication.failureCount, answer: answer)
        record.withLock { $0.steps.append(.challenged(challenge)) }
    }

    /// The credential that is used without asking: the proxy's own, else the store's, else the tickets that are there.
    func defaultCredential(for space: ProtectionSpace, on loop: isolated TransferLoop) async -> Credential? {
        if space.isProxy, let credential = proxy?.credential(for: space) { return credential }
        let description = record.withLock { $0.taskDescription }
        if let credential = await credentialStorage.defaultCredential(for: space, taskDescription: description) {
            return credential
        }
        let isTransparent = space.method == .negotiate && configuration.authentication.usesKerberosTickets
        return isTransparent ? Credential(kerberosTicketsIn: nil) : nil
    }

    /// Asks the delegates: at session level first where the method is of that level, then the task's, then the
    /// session's for its tasks (AUT-9, AUT-10).
    private func answer(
        to question: AuthenticationMachine.Question, _ response: Response, on loop: isolated TransferLoop
    ) async throws(LoadError) -> Challenge.Disposition {
        var challenge = Challenge(
            protectionSpace: question.space, proposedCredential: question.proposedCredential,
            previousFailureCount: question.previousFailureCount, failureResponse: response)
        challenge.offeredSpaces = question.offeredSpaces
        return try await disposition(of: challenge, on: loop)
    }

    /// Keeps the accepted credentials, and learns where they are accepted (CRD-4).
    private func convinced(by response: Response, on loop: isolated TransferLoop) async {
        for attempt in authentication.convinced(status: response.status.code) {
            let place = self.place(of: attempt.space, for: response.url)
            let scheme = configuration.authentication.schemeList[attempt.space.method]
            let isPreemptive = scheme?.isPreemptive ?? false
            session.spaces.withLock { spaces in
                spaces.convinced(attempt.space, at: place, isPreemptive: isPreemptive)
                if attempt.space.method == .httpDigest, !attempt.space.isProxy,
                    let nextNonce = Self.nextNonce(in: response)
                {
                    spaces.renew(attempt.space, at: place, nonce: nextNonce)
                }
            }
            if attempt.isToBeKept {
                await credentialStorage.setDefault(attempt.credential, for: attempt.space)
            }
        }
    }

    /// The nonce that `Authentication-Info` names for the next request (RFC 7616 §3.5).
    private static func nextNonce(in response: Response) -> [UInt8]? {
        guard let value = response.headerFields[.authenticationInfo] else { return nil }
        // Its parameters stand without a scheme before them.
        var parser = AuthenticationFieldParser()
        parser.read(Array(("info " + value).utf8))
        return parser.challenges.first?["nextnonce"].flatMap { $0.isEmpty ? nil : $0 }
    }

    // MARK: Negotiate

    /// Takes the next step of a conversation that a response goes on with.
    ///
    /// - Throws: `badServerResponse` when the server accepts us and cannot prove itself.
    private func continuesNegotiation(with response: Response, on loop: isolated TransferLoop) async throws(LoadError)
        -> Bool
    {
        guard let negotiation, !negotiation.isComplete else { return false }
        let offered = OfferedChallenge.all(of: .wwwAuthenticate, in: response.headerFields)
        guard let text = offered.first(where: { $0.scheme == "negotiate" })?.token else { return false }
        let reply = try? await negotiation.step(Base64.decode(text) ?? [])
        // A step that is late may still run: nothing more is asked of it.
        if reply == nil { self.negotiation = nil }
        try checkCancellation()
        guard response.status == .unauthorized else {
            guard reply != nil, negotiation.isComplete else {
                throw LoadError(.badServerResponse, "The server could not prove who it is.")
            }
            return false
        }
        guard let reply, !reply.isEmpty else { return false }
        authorization = .field(Array("Negotiate ".utf8) + Base64.encode(reply))
        return true
    }
}

extension Proxy {
    /// A URL with its host and port, under which the session remembers its requirements.
    fileprivate var place: URLRecord? { try? URLRecord("http://\(host):\(port)/") }
}

extension Load {
    /// Where credentials are kept.
    var credentialStorage: any CredentialStorage { configuration.credentialStorage ?? session.ownCredentials }
}

extension String {
    /// The text without brackets around it.
    fileprivate func trimmingBrackets() -> String {
        hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : self
    }
}
