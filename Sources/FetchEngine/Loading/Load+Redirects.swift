import HTTPTypes
import Synchronization

// The requests that follow a response that is not the last one.
extension Load {
    /// Whether a response may lead to another request, by its status or as a handler proposes.
    func isRedirect(_ response: Response) -> Bool {
        RedirectMachine.isRedirect(response.status.code) || exchange is HandlerExchange
    }

    /// The request to make next, or nil when this response is the final one.
    func hop(
        after response: Response, to request: Request, on loop: isolated TransferLoop
    ) async throws(LoadError) -> Request? {
        switch redirect(in: response, to: request) {
        case .deliver: return nil
        case .fail(let error): throw error
        case .propose(let proposed, let redirect):
            guard let next = try await decision(on: proposed, response, to: request, on: loop) else { return nil }
            record.withLock { $0.steps.append(.redirected(redirect)) }
            return next
        }
    }

    /// The redirect of the response: that which a handler proposes, otherwise that of its status.
    ///
    /// A handler may lead wherever the program's handlers do, but data: and file: URLs are never reached by a redirect.
    private func redirect(in response: Response, to request: Request) -> RedirectMachine.Action {
        if let proposed = (exchange as? HandlerExchange)?.proposedRequest {
            return redirects.received(
                response, from: currentRequest, proposing: proposed, isAsking: asksAboutRedirects)
        }
        guard RedirectMachine.isRedirect(response.status.code) else { return .deliver }
        let store = configuration.strictTransport
        let judge = TargetGuard(policy: configuration.targetPolicy)
        return redirects.received(response, to: request, by: judge, isAsking: asksAboutRedirects) {
            store?.secured($0) ?? $0
        }
    }

    /// Whether an adviser or delegate may answer a redirect otherwise than the policy.
    private var asksAboutRedirects: Bool {
        configuration.kind != .background
            && (advised.contains(.redirection) || client?.asksDelegates ?? false)
    }

    /// A hop that the guard refuses when the name has been looked up was not followed either.
    func asRedirect(_ error: LoadError) -> LoadError {
        let codes: [TargetRefusal.Code] = [
            .addressForbidden, .portForbidden, .hostForbidden, .schemeForbidden, .egressDenied, .egressNotAllowed,
        ]
        guard let code = codes.first(where: { $0.name == error.code.name }) else { return error }
        let isFromRedirect = record.withLock { record in
            guard case .redirected(let redirect) = record.steps.last, redirect.cause == .response else { return false }
            record.steps.removeLast()
            return true
        }
        guard isFromRedirect else { return error }
        var refused = LoadError(redirectTo: error.refusal ?? TargetRefusal(code, error.message))
        refused.failingURL = error.failingURL
        return refused
    }

    /// The decision of the adviser and the delegates about a proposed request; nil to keep the response.
    ///
    /// A background session asks no delegate (BKG-5).
    ///
    /// - Parameter request: The one that was redirected, or whose URL was put into another form.
    func decision(
        on proposed: Request, _ response: Response?, to request: Request, on loop: isolated TransferLoop
    ) async throws(LoadError) -> Request? {
        guard configuration.kind != .background else { return proposed }
        switch try await advice(on: proposed, response, to: request, on: loop) {
        case .performDefaultHandling: break
        case .follow(let next): return try configuration.checked(next, from: request.url)
        case .returnResponse: return nil
        case .cancel: throw LoadError(.cancelled, "The redirect was answered with cancel.")
        }
        if let client, client.asksDelegates {
            switch try await answer(on: loop, to: { await client.redirect(response, to: proposed) }) {
            case .performDefaultHandling: break
            case .follow(let request): return request
            case .returnResponse: return nil
            case .cancel: throw LoadError(.cancelled, "The delegate cancelled the redirect.")
            }
        }
        guard response != nil else {
            guard configuration.redirects.formPolicy == .follow else {
                throw LoadError(.redirectRefused, "The URL has another form, and the policy is to fail then.")
            }
            return proposed
        }
        switch redirects.actionOfPolicy {
        case nil, .propose: return proposed
        case .deliver: return nil
        case .fail(let error): throw error
        }
    }

    private func advice(
        on proposed: Request, _ response: Response?, to request: Request, on loop: isolated TransferLoop
    ) async throws(LoadError) -> RedirectDisposition {
        let answer =
            if let response {
                try await advice(on: .redirection, on: loop) {
                    .redirection(response, of: request, proposed: proposed, hop: redirects.followed)
                }
            } else {
                try await advice(on: .canonicalization, on: loop) {
                    let isStrict = request.url.scheme == "http" && proposed.url.scheme == "https"
                    return .canonicalization(of: request, proposed: proposed, isStrict: isStrict)
                }
            }
        if case .redirect(let disposition) = answer { return disposition }
        return .performDefaultHandling
    }
}
