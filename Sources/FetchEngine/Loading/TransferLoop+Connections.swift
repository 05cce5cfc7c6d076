import HTTPTypes

// How a hop's connection is made, and what happens when it was not made because something has to be asked first.
extension TransferLoop {
    /// What the connection for a URL is made with.
    ///
    /// - Throws: `proxyForbidden` when the target policy does not allow the proxy.
    func terms(for url: URLRecord, of task: SessionTask) throws(LoadError) -> ConnectionTerms {
        let answers = task.load.connections
        var terms = ConnectionTerms(route: answers.route(to: url, task.shared.value.proxies))
        if let proxy = terms.proxy { try judge(proxy, for: url, by: task.shared.value.targetPolicy) }
        guard url.layout.special != .http else { return terms }
        let isAsking = task.delegate != nil || task.session.delegate != nil
        if url.layout.special == .https || url.isFTP {
            let first = task.originalRequest.url.origin
            terms.trust = answers.trustRules(for: url, task.shared.value.tls, isAsking: isAsking)
            terms.identity = answers.identity(for: url, task.shared.value.tls, first: first)
            terms.asksForIdentity = isAsking && !answers.hasChosenIdentity(for: url)
        }
        if url.isFTP { terms.login = login(for: url, of: task) }
        return terms
    }

    private func judge(_ proxy: Proxy, for url: URLRecord, by policy: TargetPolicy) throws(LoadError) {
        do throws(TargetRefusal) {
            try TargetGuard(policy: policy).judge(proxy, for: url)
        } catch {
            throw LoadError(.init(error.code.name), error.message)
        }
    }

    /// Who logs in: who was chosen, or who the task's own URL names.
    private func login(for url: URLRecord, of task: SessionTask) -> Credential? {
        if let chosen = task.load.connections.login(for: url) { return chosen }
        let own = task.originalRequest.url
        return own.origin == url.origin ? Credential(userinfoOf: own) : nil
    }

    // MARK: After a connection that was not made

    /// Asks what has to be known before the connection can be made.
    ///
    /// Returns whether to make the hop's exchange again; then not a byte of the request has left.
    func settlesConnection(of exchange: Exchange, for task: SessionTask) async throws(LoadError) -> Bool {
        guard let transfer = exchange as? Transfer, transfer.response == nil, task.load.cancellation == nil,
            case .some(.some(let error)) = transfer.outcome
        else { return false }
        let url = transfer.request.url
        if error.code == .proxyAuthenticationRequired, let answer = transfer.proxyResponse {
            return try await answersChallenge(of: answer, to: transfer.request, of: task)
        }
        if transfer.allowsNextRoute {
            return task.load.connections.routeFailed(to: url, task.shared.value.proxies)
        }
        if let handshake = transfer.handshake {
            if handshake.isTrustUndecided, let trust = handshake.trust {
                return try await settleTrust(trust, url, error, of: task)
            }
            if handshake.isIdentityUndecided {
                return try await chooseIdentity(handshake, refused: nil, url, of: task)
            }
            if error.code == .clientCertificateRejected, let refused = transfer.terms.identity {
                return try await chooseIdentity(handshake, refused: refused, url, of: task)
            }
        }
        guard transfer.speaksFTP, error.code == .userAuthenticationRequired else { return false }
        return try await chooseLogin(refused: transfer.terms.login, url, of: task)
    }

    // MARK: Trust

    /// Asks whether a chain is accepted (AUT-28).
    private func settleTrust(
        _ trust: ServerTrust, _ url: URLRecord, _ error: LoadError, of task: SessionTask
    ) async throws(LoadError) -> Bool {
        var challenge = Challenge(protectionSpace: ProtectionSpace(url, .serverTrust))
        challenge.serverTrust = trust
        switch try await disposition(of: challenge, for: task) {
        case .useCredential(let credential)
        where credential.accepts(trust) && (trust.isTrusted || !task.isStrict(about: url)):
            task.load.connections.accept(trust, from: url.origin)
        case .cancelAuthenticationChallenge:
            throw LoadError(.userCancelledAuthentication, "The challenge was answered with cancel.")
        case .performDefaultHandling, .continueWithoutCredential:
            guard case .trusted = trust.verdict else { throw refusal(of: trust, error) }
            task.load.connections.settle(trust, from: url.origin)
        case .useCredential, .rejectProtectionSpace: throw refusal(of: trust, error)
        }
        return true
    }

    /// The error that the verdict on a chain is, or that a delegate's refusal of a trusted one is.
    private func refusal(of trust: ServerTrust, _ error: LoadError) -> LoadError {
        var code = LoadError.Code.serverCertificateUntrusted
        if case .rejected(let rejection, _) = trust.verdict { code = rejection }
        return LoadError(code, TLSFailure.message(for: code), underlying: error.underlying)
    }

    // MARK: Identity

    /// Asks which identity the server is shown (AUT-27).
    ///
    /// One that was refused is not shown again: the load fails when nobody has another.
    private func chooseIdentity(
        _ handshake: Handshake, refused: ClientIdentity?, _ url: URLRecord, of task: SessionTask
    ) async throws(LoadError) -> Bool {
        guard task.delegate != nil || task.session.delegate != nil else { return false }
        if refused != nil { task.load.connections.identityRefused() }
        var challenge = Challenge(
            protectionSpace: ProtectionSpace(url, .clientCertificate),
            proposedCredential: refused.map { Credential(identity: $0) },
            previousFailureCount: task.load.connections.identityFailures)
        challenge.acceptableIssuers = handshake.acceptableIssuers ?? []
        switch try await disposition(of: challenge, for: task) {
        case .useCredential(let credential):
            guard let identity = credential.identity, identity != refused else { return false }
            task.load.connections.choose(identity, for: url.origin)
            return true
        case .cancelAuthenticationChallenge:
            throw LoadError(.userCancelledAuthentication, "The challenge was answered with cancel.")
        case .performDefaultHandling, .continueWithoutCredential, .rejectProtectionSpace:
            guard refused == nil else { return false }
            // The server may be content without, or says that it is not.
            task.load.connections.choose(nil, for: url.origin)
            return true
        }
    }

    // MARK: Login

    /// Logs in as whom a credential is stored for: an FTP server that lets anybody in would not ask (RFC 1738 §3.2.1).
    func chooseStoredLogin(for url: URLRecord, of task: SessionTask) async {
        guard url.isFTP, login(for: url, of: task) == nil else { return }
        let space = ProtectionSpace(url, .default)
        guard let stored = await task.credentialStorage.defaultCredential(for: space, task: task), stored.fits(.default)
        else { return }
        task.load.connections.choose(login: stored, for: url.origin)
    }

    /// Asks who logs in (AUT-31).
    private func chooseLogin(
        refused: Credential?, _ url: URLRecord, of task: SessionTask
    ) async throws(LoadError) -> Bool {
        if refused != nil { task.load.connections.loginRefused() }
        let challenge = Challenge(
            protectionSpace: ProtectionSpace(url, .default), proposedCredential: refused,
            previousFailureCount: task.load.connections.loginFailures)
        switch try await disposition(of: challenge, for: task) {
        case .useCredential(let credential):
            guard credential.fits(.default), credential != refused else { return false }
            task.load.connections.choose(login: credential, for: url.origin)
            return true
        case .cancelAuthenticationChallenge:
            throw LoadError(.userCancelledAuthentication, "The challenge was answered with cancel.")
        case .performDefaultHandling, .continueWithoutCredential, .rejectProtectionSpace: return false
        }
    }
}

extension ProtectionSpace {
    /// The space of a URL's server, without a realm.
    fileprivate init(_ url: URLRecord, _ method: Method) {
        self.init(host: url.host ?? "", port: url.effectivePort ?? 0, scheme: url.scheme, method: method)
    }
}
