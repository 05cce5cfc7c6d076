import EventLoop
import HTTPTypes
import Synchronization

/// How one load goes, from its request to its last byte.
///
/// Runs on the loop; the steps are in order of time, those of one subject in a file of their own. Each `await` may cost
/// a turn of the loop, so a step awaits only when it has something to wait for.
extension TransferLoop {
    /// Works for who awaits a task; when they are cancelled, so is the task.
    ///
    /// Everything happens on the loop. The preference is for what waits in between: without it every wait would end on
    /// a thread of the pool first.
    func serve<Result: Sendable>(
        _ task: SessionTask, _ work: @Sendable (isolated TransferLoop) async throws(LoadError) -> Result
    ) async throws(LoadError) -> Result {
        do {
            return try await withTaskCancellationHandler {
                try await withTaskExecutorPreference(eventLoop) { try await work(self) }
            } onCancel: {
                task.cancel()
            }
        } catch {
            throw error as? LoadError ?? LoadError(.unknown, "The load failed.")
        }
    }

    /// Takes the hops to the final response.
    func response(of task: SessionTask, bufferingUpTo limit: Int) async throws(LoadError) -> Response {
        do throws(LoadError) {
            try begin(task)
            var request = firstRequest(of: task)
            if mustWait(task) { request = try await beginLater(task, with: request) }
            if request.isChangedByParsing { request = try await canonical(request, of: task) }
            while true {
                if let secured = secured(request, of: task) { request = try await canonical(secured, of: task) }
                request = keepingCredentials(of: request, for: task)
                let exchange =
                    if let whole = wholeExchange(for: request, of: task) { whole } else if task.concernsCache(request) {
                        try await cachedExchange(for: request, of: task, limit: limit)
                    } else {
                        try await exchange(for: request, of: task, limit: limit)
                    }
                let response = try head(of: exchange, limit: limit, for: task)
                noteStrictTransport(response, to: request, of: task)
                if response.headerFields.contains(.setCookie) {
                    try await keepCookies(of: response, to: request, of: task)
                }
                if isAuthentication(response, of: task), try await answersChallenge(of: response, to: request, of: task)
                {
                    exchange.abort(LoadError(.cancelled, "The challenge was answered."))
                    continue
                }
                let hop = isRedirect(response, of: task) ? try await hop(after: response, to: request, of: task) : nil
                if let next = hop ?? requestAfter(response, of: task) {
                    try await keepRedirect(exchange, of: task)
                    exchange.abort(LoadError(.cancelled, "The redirect was followed."))
                    request = next
                    continue
                }
                if task.hearsResponses, let teller = task.teller { try await offer(response, of: task, to: teller) }
                let isComplete = try deliver(response, of: exchange, limit: limit, to: task)
                if isComplete, task.load.storing != nil {
                    try await keepAnswer(response, task.completeBytes, of: task)
                }
                if isComplete, !task.endsItself, complete(task) { await tell(task, nil) }
                return response
            }
        } catch {
            let located = task.finalError(asRedirect(error, of: task).at(task.currentRequest.url))
            if complete(task, with: located) { await tell(task, located) }
            throw located
        }
    }

    // MARK: The head

    /// Starts the exchange that the request asks for and waits for its head, again and again while there is no network
    /// and the configuration says to wait for it.
    func exchange(
        for request: Request, of task: SessionTask, limit: Int
    ) async throws(LoadError) -> Exchange {
        var connectivity = Connectivity(task.shared.value)
        while true {
            let exchange = try await start(request, of: task)
            await awaitHead(of: exchange, bufferingUpTo: limit, of: task)
            if exchange.hasFailed, try await settlesConnection(of: exchange, for: task) { continue }
            guard let delay = connectivity.delay(after: exchange) else { return exchange }
            try await awaitConnectivity(for: delay, isFirst: connectivity.attempts == 1, of: task)
        }
    }

    /// Waits for the head, and for the body when that may be had whole.
    func awaitHead(of exchange: Exchange, bufferingUpTo limit: Int, of task: SessionTask) async {
        let wish = Exchange.Wish.head(bufferingUpTo: limit)
        while !exchange.isMet(wish) {
            await exchange.arrival(wish, isolation: self)
            if exchange.hasNews { await tellNews(of: exchange, to: task) }
        }
        if exchange.hasNews { await tellNews(of: exchange, to: task) }
    }

    private func head(of exchange: Exchange, limit: Int, for task: SessionTask) throws(LoadError) -> Response {
        if let cancellation = exchange.load.cancellation { throw cancellation }
        // Who wants the head alone gets it, and the error behind the bytes that came; who is asked about it may.
        let isWantedAlone = limit == 0 || task.hearsResponses && task.teller != nil
        if case .some(.some(let error)) = exchange.outcome, !isWantedAlone || exchange.response == nil {
            if let response = exchange.response { task.load.record.withLock { $0.response = response } }
            throw error
        }
        guard let response = exchange.response else {
            throw LoadError(.networkConnectionLost, "The connection was lost before an answer was complete.")
        }
        return response
    }

    /// Tells what happens before the head: informational answers, and how much of the body has been sent.
    private func tellNews(of exchange: Exchange, to task: SessionTask) async {
        guard let teller = task.teller else { return }
        let answers = exchange.informational
        exchange.informational = []
        for answer in answers {
            await teller.task(
                task, didReceiveInformationalResponse: answer.status, headerFields: answer.headerFields)
        }
        if let (new, total) = exchange.takeSentBytes() {
            await teller.task(
                task, didSendBodyData: new, totalSent: total, totalExpected: task.countOfBytesExpectedToSend)
        }
    }

    // MARK: The final response

    private func offer(
        _ response: Response, of task: SessionTask, to teller: any TaskDelegate
    ) async throws(LoadError) {
        let disposition = try await task.load.answer(isolation: self) { await teller.task(task, didReceive: response) }
        if case .cancel = disposition { throw LoadError(.cancelled, "The response was answered with cancel.") }
        if case .becomeDownload = disposition { task.becomesDownload() }
    }

    /// Leaves the response, and the body if it is whole, with the task.
    ///
    /// Returns whether the load is complete.
    private func deliver(
        _ response: Response, of exchange: Exchange, limit: Int, to task: SessionTask
    ) throws(LoadError) -> Bool {
        let error = exchange.outcome ?? nil
        if let error, limit > 0, !task.endsItself { throw error }
        let isComplete =
            !task.endsItself && exchange.outcome != nil && error == nil && exchange.body.count <= limit
        let body = isComplete ? exchange.takeBody() : nil
        task.load.record.withLock { record in
            record.response = response
            record.completeBody = body
        }
        return isComplete
    }

    /// The next bytes of the body, or nil at its end.
    func nextBytes(of task: SessionTask) async throws(LoadError) -> [UInt8]? {
        guard let exchange = task.load.exchange else { return nil }
        let bytes = await nextBytes(from: exchange)
        if task.load.storing != nil { await store(bytes, of: task) }
        guard bytes.isEmpty else { return bytes }
        guard case .some(var error) = exchange.outcome else { return bytes }
        if error == nil, let response = exchange.response {
            do throws(LoadError) { try await keepAnswer(response, of: task) } catch let refusal { error = refusal }
        }
        error = error.map(task.finalError)
        if complete(task, with: error) { await tell(task, error) }
        if let error { throw error }
        return nil
    }

    /// What has come of a body, once there is something; empty at its end.
    func nextBytes(from exchange: Exchange) async -> [UInt8] {
        while !exchange.isMet(.data) { await exchange.arrival(.data, isolation: self) }
        return exchange.takeBody()
    }

    // MARK: The end

    /// The last step of every load; the first call counts.
    ///
    /// Returns whether somebody is to be told, who is then told before the task is over.
    func complete(_ task: SessionTask, with error: LoadError? = nil) -> Bool {
        if let error { task.load.exchange?.abort(error) }
        task.load.exchange = nil
        task.load.storing = nil
        let (isFirst, waiters) = task.load.record.withLock { record in
            defer { (record.state, record.waiters) = (.completed, []) }
            if record.end == nil { record.end = .now }
            if record.state != .completed { record.error = error }
            return (record.state != .completed, record.waiters)
        }
        for waiter in waiters { waiter.resume() }
        guard isFirst else { return false }
        guard task.teller == nil else { return true }
        task.session.ended(task.identifier)
        return false
    }

    func tell(_ task: SessionTask, _ error: LoadError?) async {
        if let teller = task.teller {
            await teller.task(task, didFinishCollecting: task.metrics)
            if task.hearsResponses { await teller.task(task, didCompleteWith: error) }
        }
        task.session.ended(task.identifier)
        await task.session.noteEndOfEvents()
    }
}
