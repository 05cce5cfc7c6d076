import HTTPTypes
import Synchronization

// What happens to credentials before a request, and to challenges after a response.
extension TransferLoop {
    // MARK: Before a request

    /// Takes the user name and password out of a request's URL; they come back as a credential when they are asked for.
    func keepingCredentials(of request: Request, for task: SessionTask) -> Request {
        guard request.url.hasCredentials else { return request }
        task.load.authentication.use(userinfoOf: request.url)
        var request = request
        request.url = request.url.withoutCredentials()
        return request
    }

    /// Whether a request may carry more than it brings along: something is known of its server, or was asked for.
    func mayBeAuthorized(_ task: SessionTask) -> Bool {
        task.load.authorization != nil || !task.load.authentication.attempts.isEmpty
            || task.session.spaces.withLock { !$0.isEmpty }
    }

    /// What the request is going to carry; a request that brings its own `Authorization` is left alone unless a server
    /// has refused it.
    func authorization(for request: Request, of task: SessionTask) async throws(LoadError) -> Authorization? {
        let load = task.load
        if let prepared = load.authorization.take() { return prepared }
        await volunteer(for: request, of: task)
        guard let attempt = load.authentication.attempt else { return nil }
        if let authorization = await authorization(by: attempt, for: request, of: task) { return authorization }
        load.authentication.takeBack(attempt)
        return nil
    }

    /// Chooses the credential that the request is going to carry, when its server is known to want one.
    func volunteer(for request: Request, of task: SessionTask) async {
        guard mayBeAuthorized(task), task.load.authentication.attempt == nil,
            !request.headerFields.contains(.authorization)
        else { return }
        await volunteer(to: request.url, isProxy: false, for: task)
    }

    /// The same for the HTTP proxy on the way.
    func proxyAuthorization(for request: Request, of task: SessionTask) async throws(LoadError) -> Authorization? {
        let load = task.load
        if let prepared = load.proxyAuthorization.take() { return prepared }
        if load.authentication.proxyAttempt == nil, let place = load.proxy?.place {
            await volunteer(to: place, isProxy: true, for: task)
        }
        guard let attempt = load.authentication.proxyAttempt else { return nil }
        if let authorization = await authorization(by: attempt, for: request, of: task) { return authorization }
        load.authentication.takeBack(attempt)
        return nil
    }

    /// Inside a space that is known, the credential is sent without waiting for a challenge (RFC 7617 §2.2).
    private func volunteer(to url: URLRecord, isProxy: Bool, for task: SessionTask) async {
        guard let space = task.session.spaces.withLock({ $0.space(for: url, isProxy: isProxy) }) else { return }
        if let credential = task.load.authentication.known(for: space) {
            task.load.authentication.volunteer(credential, from: .task, for: space)
        } else if let credential = await defaultCredential(for: space, of: task) {
            task.load.authentication.volunteer(credential, from: .store, for: space)
        }
    }

    /// Whose connections the request may use.
    ///
    /// NTLM makes a connection somebody's, and so may Negotiate: such connections serve one task.
    func connectionCredential(of task: SessionTask) -> ConnectionCredential? {
        let attempts = task.load.authentication.attempts
        guard !attempts.isEmpty else { return nil }
        let isHandshake = attempts.contains { $0.space.method == .ntlm || $0.space.method == .negotiate }
        return ConnectionCredential(
            credential: task.load.authentication.attempt?.credential,
            proxyCredential: task.load.authentication.proxyAttempt?.credential,
            owner: isHandshake ? task.identifier : nil)
    }

    /// Puts an attempt into words; nil when its scheme cannot.
    private func authorization(
        by attempt: AuthenticationMachine.Attempt, for request: Request, of task: SessionTask
    ) async -> Authorization? {
        let credential = attempt.credential
        switch attempt.space.method {
        case .httpBasic: return credential.password.map { .basic(user: credential.user, password: $0) }
        case .httpBearer: return credential.bearerToken.map { .bearer(token: $0) }
        case .ntlm: return credential.password.map { .ntlm(user: credential.user, password: $0) }
        case .httpDigest: return await digest(attempt, for: request, of: task).map { .field($0) }
        case .negotiate: return await negotiate(attempt, of: task)
        case .default, .awsSigV4, .htmlForm, .clientCertificate, .serverTrust: return nil
        }
    }

    private func digest(
        _ attempt: AuthenticationMachine.Attempt, for request: Request, of task: SessionTask
    ) async -> [UInt8]? {
        let (space, place) = (attempt.space, Self.place(of: attempt.space, for: request.url, of: task))
        guard let challenge = task.session.spaces.withLock({ $0.digest(of: space, at: place) }) else { return nil }
        var target = target(of: request, isProxy: space.isProxy)
        if challenge.protection == .authInt {
            // Coded content is made while it is sent, as a stream's is.
            target.contentHash =
                request.bodyCoding == nil
                ? await DigestContent.hash(of: request.body, by: challenge.algorithm) : nil
        }
        let nonce = Self.clientNonce()
        return task.session.spaces.withLock {
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
    private static func place(of space: ProtectionSpace, for url: URLRecord, of task: SessionTask) -> URLRecord {
        space.isProxy ? task.load.proxy?.place ?? url : url
    }

    private static func clientNonce() -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        let bits: (UInt64, UInt64) = (random.next(), random.next())
        return withUnsafeBytes(of: bits) { Base64.encode(Array($0)) }
    }

    private func negotiate(_ attempt: AuthenticationMachine.Attempt, of task: SessionTask) async -> Authorization? {
        if !attempt.space.isProxy { task.load.negotiation = nil }
        let settings = task.shared.value
        if settings.targetPolicy.isRestricted, settings.authentication.kerberosRealms == nil { return nil }
        // Kerberos names hosts without the brackets of addresses.
        let host = attempt.space.host.trimmingBrackets()
        let negotiation = Negotiation(
            with: attempt.credential, host: host, service: settings.authentication.kerberosService,
            among: settings.authentication.kerberosRealms)
        guard let negotiation, let token = try? await negotiation.step(nil) else { return nil }
        if !attempt.space.isProxy { task.load.negotiation = negotiation }
        return .field(Array("Negotiate ".utf8) + Base64.encode(token))
    }

    // MARK: After a response

    /// Whether a response asks for authentication, or shows that it was accepted.
    func isAuthentication(_ response: Response, of task: SessionTask) -> Bool {
        response.status.code == 401 || response.status.code == 407 || !task.load.authentication.attempts.isEmpty
    }

    /// Answers a challenge, when the response is one; returns whether the request is to be made again.
    ///
    /// - Throws: `userCancelledAuthentication` when a delegate cancels, `badServerResponse` when the server cannot
    ///   prove itself.
    func answersChallenge(
        of response: Response, to request: Request, of task: SessionTask
    ) async throws(LoadError) -> Bool {
        let load = task.load
        let offers = AuthenticationOffer.all(
            in: response.headerFields, status: response.status.code, server: .init(server: request.url),
            proxy: load.proxy.map { .init($0) })
        if try await continuesNegotiation(with: response, of: task) { return true }
        task.session.spaces.withLock { spaces in
            for offer in offers { spaces.asked(offer, at: Self.place(of: offer.space, for: request.url, of: task)) }
        }
        var action = load.authentication.challenged(by: offers)
        if let failed = load.authentication.failedFromStore {
            await task.credentialStorage.noteFailure(of: failed.credential, for: failed.space)
        }
        while true {
            switch action {
            case .lookUp(let space):
                action = load.authentication.found(await defaultCredential(for: space, of: task))
            case .ask(let question):
                action = load.authentication.answered(try await answer(to: question, response, of: task))
            case .retry(let attempt):
                if let authorization = await authorization(by: attempt, for: request, of: task) {
                    if attempt.space.isProxy {
                        load.proxyAuthorization = authorization
                    } else {
                        load.authorization = authorization
                    }
                    note(.useCredential, to: attempt.space, of: task)
                    return true
                }
                action = load.authentication.couldNotBegin(attempt)
            case .deliver:
                if let space = offers.first?.space { note(.performDefaultHandling, to: space, of: task) }
                await convinced(by: response, of: task)
                return false
            case .cancel:
                if let space = offers.first?.space { note(.cancelAuthenticationChallenge, to: space, of: task) }
                throw LoadError(.userCancelledAuthentication, "The challenge was answered with cancel.")
            }
            if let cancellation = load.cancellation { throw cancellation }
        }
    }

    private func note(_ answer: AnsweredChallenge.Answer, to space: ProtectionSpace, of task: SessionTask) {
        let challenge = AnsweredChallenge(
            protectionSpace: space, previousFailureCount: task.load.authentication.failureCount, answer: answer)
        task.load.record.withLock { $0.steps.append(.challenged(challenge)) }
    }

    private func defaultCredential(for space: ProtectionSpace, of task: SessionTask) async -> Credential? {
        if space.isProxy, let credential = task.load.proxy?.credential(for: space) { return credential }
        if let credential = await task.credentialStorage.defaultCredential(for: space, task: task) { return credential }
        let isTransparent = space.method == .negotiate && task.shared.value.authentication.usesKerberosTickets
        return isTransparent ? Credential(kerberosTicketsIn: nil) : nil
    }

    /// Asks the delegates: at session level first where the method is of that level, then the task's, then the
    /// session's for its tasks (AUT-9, AUT-10).
    private func answer(
        to question: AuthenticationMachine.Question, _ response: Response, of task: SessionTask
    ) async throws(LoadError) -> Challenge.Disposition {
        var challenge = Challenge(
            protectionSpace: question.space, proposedCredential: question.proposedCredential,
            previousFailureCount: question.previousFailureCount, failureResponse: response)
        challenge.offeredSpaces = question.offeredSpaces
        return try await disposition(of: challenge, for: task)
    }

    /// Keeps what has convinced, and learns where it does (CRD-4).
    private func convinced(by response: Response, of task: SessionTask) async {
        for attempt in task.load.authentication.convinced(status: response.status.code) {
            let place = Self.place(of: attempt.space, for: response.url, of: task)
            task.session.spaces.withLock { spaces in
                spaces.convinced(attempt.space, at: place)
                if attempt.space.method == .httpDigest, !attempt.space.isProxy,
                    let nextNonce = Self.nextNonce(in: response)
                {
                    spaces.renew(attempt.space, at: place, nonce: nextNonce)
                }
            }
            if attempt.isToBeKept {
                await task.credentialStorage.setDefault(attempt.credential, for: attempt.space)
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
    private func continuesNegotiation(with response: Response, of task: SessionTask) async throws(LoadError) -> Bool {
        guard let negotiation = task.load.negotiation, !negotiation.isComplete else { return false }
        let offered = OfferedChallenge.all(of: .wwwAuthenticate, in: response.headerFields)
        guard let text = offered.first(where: { $0.scheme == "negotiate" })?.token else { return false }
        let reply = try? await negotiation.step(Base64.decode(text) ?? [])
        // A step that is late may still run: nothing more is asked of it.
        if reply == nil { task.load.negotiation = nil }
        if let cancellation = task.load.cancellation { throw cancellation }
        guard response.status == .unauthorized else {
            guard reply != nil, negotiation.isComplete else {
                throw LoadError(.badServerResponse, "The server could not prove who it is.")
            }
            return false
        }
        guard let reply, !reply.isEmpty else { return false }
        task.load.authorization = .field(Array("Negotiate ".utf8) + Base64.encode(reply))
        return true
    }
}

extension Proxy {
    /// A URL that has its host and port: where the session remembers what it asks for.
    fileprivate var place: URLRecord? { try? URLRecord("http://\(host):\(port)/") }
}

extension SessionTask {
    /// Where its credentials are kept.
    var credentialStorage: any CredentialStorage { configuration.credentialStorage ?? session.ownCredentials }
}

extension String {
    /// The text without brackets around it.
    fileprivate func trimmingBrackets() -> String {
        hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : self
    }
}
