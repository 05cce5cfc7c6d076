import HTTPTypes
import Synchronization

// How a hop's connection is made, and the questions that must be answered before it can be.
extension Load {
    /// The terms of the connection for a URL.
    ///
    /// - Throws: `proxyForbidden` when the target policy does not allow the proxy.
    func terms(for url: URLRecord) throws(LoadError) -> ConnectionTerms {
        let decisions = connections
        var terms = ConnectionTerms(route: decisions.route(to: url, configuration.proxies))
        if let proxy = terms.proxy { try judge(proxy, for: url, by: configuration.targetPolicy) }
        guard url.layout.special != .http else { return terms }
        let isAsking = client?.asksDelegates ?? false
        if url.layout.special == .https || url.isFTP {
            let first = originalRequest.url.origin
            terms.trust = decisions.trustRules(
                for: url, configuration.tls, isAsking: isAsking || advised.contains(.serverTrust))
            if advised.isSuperset(of: [.serverTrust, .trustedServers]) { terms.trust.question = .everybody }
            terms.identity = decisions.identity(for: url, configuration.tls, first: first)
            terms.asksForIdentity =
                (isAsking || advised.contains(.clientCertificate)) && !decisions.hasChosenIdentity(for: url)
        }
        if url.isFTP { terms.login = login(for: url) }
        return terms
    }

    private func judge(_ proxy: Proxy, for url: URLRecord, by policy: TargetPolicy) throws(LoadError) {
        do throws(TargetRefusal) {
            try TargetGuard(policy: policy).judge(proxy, for: url)
        } catch {
            throw LoadError(refused: error)
        }
    }

    /// The credential of the login: the chosen one, or that in the task's own URL.
    private func login(for url: URLRecord) -> Credential? {
        if let chosen = connections.login(for: url) { return chosen }
        let own = originalRequest.url
        return own.origin == url.origin ? Credential(userinfoOf: own) : nil
    }

    // MARK: After a connection that was not made

    /// Asks the questions that must be answered before the connection can be made.
    ///
    /// Returns whether to make the hop's exchange again; then not a byte of the request has left.
    func settlesConnection(of exchange: any Exchange, on loop: isolated TransferLoop) async throws(LoadError) -> Bool {
        guard let transfer = exchange as? Transfer, transfer.response == nil, cancellation == nil,
            case .some(.some(let error)) = transfer.outcome
        else { return false }
        let url = transfer.request.url
        if error.code == .proxyAuthenticationRequired, let response = transfer.proxyResponse {
            return try await answersChallenge(of: response, to: transfer.request, on: loop)
        }
        if transfer.allowsNextRoute {
            return connections.routeFailed(to: url, configuration.proxies)
        }
        if let handshake = transfer.handshake {
            if handshake.isTrustUndecided, let trust = handshake.trust {
                return try await settleTrust(trust, url, error, on: loop)
            }
            if handshake.isIdentityUndecided {
                return try await chooseIdentity(handshake, refused: nil, url, on: loop)
            }
            if error.code == .clientCertificateRejected, let refused = transfer.terms.identity {
                return try await chooseIdentity(handshake, refused: refused, url, on: loop)
            }
        }
        guard transfer.speaksFTP, error.code == .userAuthenticationRequired else { return false }
        return try await chooseLogin(refused: transfer.terms.login, url, on: loop)
    }

    // MARK: Trust

    /// Asks whether a chain is accepted (AUT-28).
    private func settleTrust(
        _ trust: ServerTrust, _ url: URLRecord, _ error: LoadError, on loop: isolated TransferLoop
    ) async throws(LoadError) -> Bool {
        var challenge = Challenge(protectionSpace: ProtectionSpace(url, .serverTrust))
        challenge.serverTrust = trust
        switch try await disposition(of: challenge, on: loop) {
        case .useCredential(let credential)
        where credential.accepts(trust) && (trust.isTrusted || !isStrict(about: url)):
            connections.accept(trust, from: url.origin)
        case .cancelAuthenticationChallenge:
            throw cancelled(challenge)
        case .performDefaultHandling, .continueWithoutCredential:
            guard case .trusted = trust.verdict else { throw refusal(of: trust, error) }
            connections.settle(trust, from: url.origin)
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
    /// A refused certificate is not sent again: the load fails when there is no other.
    private func chooseIdentity(
        _ handshake: Handshake, refused: ClientIdentity?, _ url: URLRecord, on loop: isolated TransferLoop
    ) async throws(LoadError) -> Bool {
        guard client?.asksDelegates ?? false || advised.contains(.clientCertificate) else { return false }
        if refused != nil { connections.identityRefused() }
        var challenge = Challenge(
            protectionSpace: ProtectionSpace(url, .clientCertificate),
            proposedCredential: refused.map { Credential(identity: $0) },
            previousFailureCount: connections.identityFailures)
        challenge.acceptableIssuers = handshake.acceptableIssuers ?? []
        switch try await disposition(of: challenge, on: loop) {
        case .useCredential(let credential):
            guard let identity = credential.identity, identity != refused else { return false }
            connections.choose(identity, for: url.origin)
            return true
        case .cancelAuthenticationChallenge:
            throw cancelled(challenge)
        case .performDefaultHandling, .continueWithoutCredential, .rejectProtectionSpace:
            guard refused == nil else { return false }
            // The server may be content without, or says that it is not.
            connections.choose(nil, for: url.origin)
            return true
        }
    }

    // MARK: Login

    /// Logs in with a stored credential: an FTP server that lets anybody in would not ask (RFC 1738 §3.2.1).
    func chooseStoredLogin(for url: URLRecord, on loop: isolated TransferLoop) async {
        guard url.isFTP, login(for: url) == nil else { return }
        let stored = await defaultCredential(for: ProtectionSpace(url, .default), on: loop)
        guard let stored, stored.fits(.default) else { return }
        connections.choose(login: stored, for: url.origin)
    }

    /// Asks who logs in (AUT-31).
    private func chooseLogin(
        refused: Credential?, _ url: URLRecord, on loop: isolated TransferLoop
    ) async throws(LoadError) -> Bool {
        if refused != nil { connections.loginRefused() }
        let challenge = Challenge(
            protectionSpace: ProtectionSpace(url, .default), proposedCredential: refused,
            previousFailureCount: connections.loginFailures)
        switch try await disposition(of: challenge, on: loop) {
        case .useCredential(let credential):
            guard credential.fits(.default), credential != refused else { return false }
            connections.choose(login: credential, for: url.origin)
            return true
        case .cancelAuthenticationChallenge:
            throw cancelled(challenge)
        case .performDefaultHandling, .continueWithoutCredential, .rejectProtectionSpace: return false
        }
    }

    // MARK: Cancelling

    /// The error of a load whose challenge was cancelled, which it notes.
    private func cancelled(_ challenge: Challenge) -> LoadError {
        let answered = AnsweredChallenge(
            protectionSpace: challenge.protectionSpace, previousFailureCount: challenge.previousFailureCount,
            answer: .cancelAuthenticationChallenge)
        record.withLock { $0.steps.append(.challenged(answered)) }
        return LoadError(.userCancelledAuthentication, "The delegate cancelled the challenge.")
    }
}

extension ProtectionSpace {
    /// The space of a URL's server, without a realm.
    fileprivate init(_ url: URLRecord, _ method: Method) {
        self.init(host: url.host ?? "", port: url.effectivePort ?? 0, scheme: url.scheme, method: method)
    }
}
