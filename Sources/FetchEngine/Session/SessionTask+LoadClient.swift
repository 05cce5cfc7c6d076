import HTTPTypes

// The delegates, as a load asks and notifies them.
extension SessionTask: LoadClient {
    var kind: LoadKind { self is UploadTask ? .upload : self is DataTask ? .data : .download }
    var notifiesDelegate: Bool { notifiedDelegate != nil }
    var asksDelegates: Bool { delegate != nil || session.delegate != nil }
    var offersResponses: Bool { reportsResponses && notifiesDelegate }
    var announcesTasks: Bool { session.delegate != nil }

    /// The delegates that are asked, one after the other.
    private var delegates: [any TaskDelegate] { [delegate, session.delegate].compactMap { $0 as (any TaskDelegate)? } }

    func checkKind() throws(LoadError) {
        guard session.allows(self) else {
            throw LoadError(.unsupportedURL, "A background session has uploads and downloads only.")
        }
    }

    func refresh(_ request: Request, then completion: @escaping @Sendable () -> Void) {
        let task = session.dataTask(
            with: request, configuration: configuration, delegate: RefreshDelegate(decider: notifiedDelegate))
        session.transferLoop.start { _ in
            await task.run()
            completion()
        }
    }

    func leaveSession() { session.ended(identifier) }

    // MARK: Questions

    // The task of a question is cancelled with the load, which does not wait for it: nobody is asked from then on.

    nonisolated(nonsending) func redirect(_ response: Response?, to request: Request) async -> RedirectDisposition {
        for delegate in delegates where !Task.isCancelled {
            let answer = await delegate.task(self, willPerformHTTPRedirection: response, newRequest: request)
            guard case .performDefaultHandling = answer else { return answer }
        }
        return .performDefaultHandling
    }

    /// At session level first where the method is of that level, then the task's delegate, then the session's for its
    /// tasks (AUT-9, AUT-10); of those the ones that want to be asked (AUT-12).
    nonisolated(nonsending) func disposition(of challenge: Challenge) async -> Challenge.Disposition {
        let space = challenge.protectionSpace
        let taskWants = await wants(delegate, space)
        let sessionWants = await wants(session.delegate, space)
        // A task's delegate leaves those of connections to the session's, unless it says otherwise.
        guard space.method.isOfConnection || taskWants ?? true && sessionWants ?? true else {
            return .rejectProtectionSpace
        }
        let sessionDelegate = sessionWants == true ? session.delegate : nil
        if space.method.isSessionLevel, let sessionDelegate, !Task.isCancelled {
            let answer = await sessionDelegate.session(session, didReceive: challenge)
            guard case .performDefaultHandling = answer else { return answer }
        }
        let willing: [(any TaskDelegate)?] = [taskWants == true ? delegate : nil, sessionDelegate]
        for delegate in willing.compactMap({ $0 }) where !Task.isCancelled {
            let answer = await delegate.task(self, didReceive: challenge)
            guard case .performDefaultHandling = answer else { return answer }
        }
        return .performDefaultHandling
    }

    /// Whether a delegate wants to be asked about a space; nil where there is none, or nobody is asked any more.
    private nonisolated(nonsending) func wants(_ delegate: (any TaskDelegate)?, _ space: ProtectionSpace) async -> Bool?
    {
        guard let delegate, !Task.isCancelled else { return nil }
        return await delegate.task(self, canAuthenticateAgainst: space)
    }

    nonisolated(nonsending) func disposition(of response: Response) async -> ResponseDisposition {
        await notifiedDelegate?.task(self, didReceive: response) ?? .allow
    }

    nonisolated(nonsending) func disposition(ofDelayed request: Request) async -> DelayedRequestDisposition {
        let answer = await notifiedDelegate?.task(self, willBeginDelayedRequest: request) ?? .continueLoading
        guard case .continueLoading = answer else { return answer }
        return delayedRequestDisposition
    }

    nonisolated(nonsending) func newBodyStream() async -> BodyPipe? {
        for delegate in delegates where !Task.isCancelled {
            if let pipe = await delegate.taskNeedsNewBodyStream(self) { return pipe }
        }
        return nil
    }

    nonisolated(nonsending) func responseToCache(_ proposed: CachedResponse) async -> CachedResponse? {
        guard let notifiedDelegate else { return proposed }
        return await notifiedDelegate.task(self, willCache: proposed)
    }

    // MARK: Notifications

    nonisolated(nonsending) func created() async { await session.delegate?.session(session, didCreate: self) }

    nonisolated(nonsending) func waitsForConnectivity() async {
        await notifiedDelegate?.taskIsWaitingForConnectivity(self)
    }

    nonisolated(nonsending) func received(informational status: HTTPResponse.Status, _ fields: HTTPFields) async {
        await notifiedDelegate?.task(self, didReceiveInformationalResponse: status, headerFields: fields)
    }

    nonisolated(nonsending) func sentBodyBytes(_ count: Int64, of total: Int64) async {
        await notifiedDelegate?.task(
            self, didSendBodyData: count, totalSent: total, totalExpected: countOfBytesExpectedToSend)
    }

    nonisolated(nonsending) func finished(_ error: LoadError?) async {
        if let notifiedDelegate {
            await notifiedDelegate.task(self, didFinishCollecting: metrics)
            if reportsResponses { await notifiedDelegate.task(self, didCompleteWith: error) }
        }
        leaveSession()
        await session.noteEndOfEvents()
    }
}

/// The delegate of a revalidation in the background: it notifies no one, but may change the response before it is
/// stored.
private struct RefreshDelegate: TaskDelegate {
    let decider: (any TaskDelegate)?

    func task(_ task: SessionTask, willCache response: CachedResponse) async -> CachedResponse? {
        if let decider { await decider.task(task, willCache: response) } else { response }
    }
}
