import HTTPTypes
import Synchronization

// What comes after a response that is not the last one.
extension TransferLoop {
    /// Whether a response may lead to another request, by its status or as a handler proposes.
    func isRedirect(_ response: Response, of task: SessionTask) -> Bool {
        RedirectMachine.isRedirect(response.status.code) || task.load.exchange is HandlerExchange
    }

    /// The request to make next, or nil when this response is the final one.
    func hop(
        after response: Response, to request: Request, of task: SessionTask
    ) async throws(LoadError) -> Request? {
        switch redirect(in: response, to: request, of: task) {
        case .deliver: return nil
        case .fail(let error): throw error
        case .propose(let proposed, let redirect):
            guard let next = try await decision(on: proposed, response, of: task) else { return nil }
            task.load.record.withLock { $0.steps.append(.redirected(redirect)) }
            return next
        }
    }

    /// What the response means: as a handler proposes, else as the status says.
    ///
    /// A handler may lead wherever the program's handlers do, but data: and file: URLs are never reached by a redirect.
    private func redirect(in response: Response, to request: Request, of task: SessionTask) -> RedirectMachine.Action {
        if let proposed = (task.load.exchange as? HandlerExchange)?.proposedRequest {
            return task.load.redirects.received(response, from: task.currentRequest, proposing: proposed)
        }
        guard RedirectMachine.isRedirect(response.status.code) else { return .deliver }
        let store = task.shared.value.strictTransport
        let judge = TargetGuard(policy: task.shared.value.targetPolicy)
        return task.load.redirects.received(response, to: request, by: judge) { store?.secured($0) ?? $0 }
    }

    /// A hop that the guard refuses when the name has been looked up was not followed either.
    func asRedirect(_ error: LoadError, of task: SessionTask) -> LoadError {
        let refusals: [TargetRefusal.Code] = [.addressForbidden, .portForbidden, .hostForbidden, .schemeForbidden]
        guard let code = refusals.first(where: { $0.name == error.code.name }) else { return error }
        let isFromRedirect = task.load.record.withLock { record in
            guard case .redirected(let redirect) = record.steps.last, redirect.cause == .response else { return false }
            record.steps.removeLast()
            return true
        }
        guard isFromRedirect else { return error }
        var refused = LoadError(redirectTo: TargetRefusal(code, error.message))
        refused.failingURL = error.failingURL
        return refused
    }

    /// What the delegates make of a proposed request; nil to leave it at the response.
    ///
    /// A background session asks nobody (BKG-5).
    func decision(
        on proposed: Request, _ response: Response?, of task: SessionTask
    ) async throws(LoadError) -> Request? {
        guard task.shared.value.kind != .background else { return proposed }
        for delegate in task.askable {
            let answer = try await task.load.answer(isolation: self) {
                await delegate.task(task, willPerformHTTPRedirection: response, newRequest: proposed)
            }
            switch answer {
            case .performDefaultHandling: continue
            case .follow(let request): return request
            case .returnResponse: return nil
            case .cancel: throw LoadError(.cancelled, "The redirect was answered with cancel.")
            }
        }
        return proposed
    }
}
