import EventLoop
import HTTPTypes
import Synchronization

// How a load goes, from its request to its last byte. The steps are in order of time, those of one subject in a file of
// their own. Each `await` may cost a turn of the loop, so a step awaits only when it has something to wait for.
extension Load {
    /// Takes the hops to the final response.
    ///
    /// - Parameter limit: How much of the body to wait for.
    func response(bufferingUpTo limit: Int, on loop: isolated TransferLoop) async throws(LoadError) -> Response {
        do throws(LoadError) {
            try begin()
            let first = firstRequest()
            var (request, atHand) = goesAtOnce(first) ? (first, nil) : try await firstHop(first, on: loop)
            while true {
                let isAtHand = atHand != nil
                if !isAtHand {
                    if let secured = secured(request) {
                        request = try await canonical(secured, of: request, on: loop)
                    }
                    request = keepingCredentials(of: request)
                }
                let exchange =
                    if let atHand = atHand.take() {
                        atHand as any Exchange
                    } else {
                        try await answeredExchange(for: request, limit: limitOfHead(limit), on: loop)
                    }
                switch try await step(after: exchange, to: request, isAtHand: isAtHand, limit: limit, on: loop) {
                case .hop(let next): request = next
                case .response(let response): return response
                }
            }
        } catch {
            let final = finalError(error)
            await complete(with: final, on: loop)
            throw final
        }
    }

    /// What follows the head of a hop.
    private enum Step {
        case hop(Request)
        case response(Response)
    }

    /// Takes the head of a hop: the next one, else the final response.
    ///
    /// Not inlined, like what is done before a hop: the frame that waits for the head would have room for it.
    @inline(never)
    private func step(
        after exchange: any Exchange, to request: Request, isAtHand: Bool, limit: Int, on loop: isolated TransferLoop
    ) async throws(LoadError) -> Step {
        let limitOfHead = limitOfHead(limit)
        let response = try head(of: exchange, limit: limitOfHead)
        noteStrictTransport(response, to: request)
        if !isAtHand, response.headerFields.contains(.setCookie) {
            try await keepCookies(of: response, to: request, on: loop)
        }
        if isAuthentication(response), try await answersChallenge(of: response, to: request, on: loop) {
            exchange.abort(LoadError(.cancelled, "The challenge was answered."))
            return .hop(request)
        }
        let hop = isRedirect(response) ? try await hop(after: response, to: request, on: loop) : nil
        if let next = hop ?? requestAfter(response) {
            try await keepRedirect(exchange, on: loop)
            exchange.abort(LoadError(.cancelled, "The redirect was followed."))
            return .hop(next)
        }
        if offersResponse { try await offer(response, on: loop) }
        if limitOfHead != limit, !endsItself {
            await awaitHead(of: exchange, bufferingUpTo: limit, on: loop)
            try checkCancellation()
        }
        let isComplete = try deliver(response, of: exchange, limit: limit)
        if isComplete, storing != nil { try await keepResponse(response, completeBytes, on: loop) }
        if isComplete, !endsItself, let notified = end(with: nil) { await notified.finished(nil) }
        return .response(response)
    }

    /// How much of the body is waited for with the head: a delegate that decides about the response is asked before its
    /// body has come.
    private func limitOfHead(_ limit: Int) -> Int { advised.contains(.response) ? 0 : limit }

    /// The error as the task ends with it.
    @inline(never)
    private func finalError(_ error: LoadError) -> LoadError {
        let located = located(asRedirect(error))
        return client?.finalError(located) ?? located
    }

    /// Whether the first hop is the request as it is, with nothing to wait for before it.
    private func goesAtOnce(_ request: Request) -> Bool {
        !mustWait && !request.isChangedByParsing && record.withLock { $0.position == nil }
    }

    /// The request of the first hop, and its response when another load has left that.
    @inline(never)
    private func firstHop(
        _ first: Request, on loop: isolated TransferLoop
    ) async throws(LoadError) -> (Request, atHand: StoredExchange?) {
        if let position = record.withLock({ $0.position.take() })?.value, let hop = position.hop {
            return try goOn(at: hop, of: position)
        }
        var request = first
        if mustWait { request = try await beginLater(with: request, on: loop) }
        if request.isChangedByParsing { request = try await canonical(request, of: request, on: loop) }
        return (request, nil)
    }

    /// The error with the URL of the hop at hand.
    func located(_ error: LoadError) -> LoadError { error.at(currentRequest.url) }

    // MARK: The head

    /// The exchange of a hop, whose head has come or that has failed: from the disk, the cache or the origin.
    private func answeredExchange(
        for request: Request, limit: Int, on loop: isolated TransferLoop
    ) async throws(LoadError) -> any Exchange {
        if client?.kind == .download, let complete = await completeExchange(for: request) { return complete }
        guard concernsCache(request) else { return try await exchange(for: request, limit: limit, on: loop) }
        return try await cachedExchange(for: request, limit: limit, on: loop)
    }

    /// Starts the exchange that the request asks for and waits for its head, again and again while there is no network
    /// and the configuration says to wait for it.
    func exchange(
        for request: Request, limit: Int, on loop: isolated TransferLoop
    ) async throws(LoadError) -> any Exchange {
        var connectivity = Connectivity(configuration)
        while true {
            let exchange = try await start(request, on: loop)
            await awaitHead(of: exchange, bufferingUpTo: limit, on: loop)
            if exchange.hasFailed, try await settlesConnection(of: exchange, on: loop) { continue }
            guard let delay = connectivity.delay(after: exchange) else { return exchange }
            try await awaitConnectivity(for: delay, isFirst: connectivity.attempts == 1, on: loop)
        }
    }

    /// Waits for the head, and for the body when it may be buffered whole.
    func awaitHead(of exchange: any Exchange, bufferingUpTo limit: Int, on loop: isolated TransferLoop) async {
        let demand = Delivery.Demand.head(bufferingUpTo: limit)
        while !exchange.isMet(demand) {
            await exchange.arrival(demand, isolation: loop)
            if exchange.hasNews { await reportNews(of: exchange, on: loop) }
        }
        if exchange.hasNews { await reportNews(of: exchange, on: loop) }
    }

    private func head(of exchange: any Exchange, limit: Int) throws(LoadError) -> Response {
        try checkCancellation()
        // A caller of the head alone gets it, and the error after the received bytes; so may a delegate that decides
        // about it.
        let isWantedAlone = limit == 0 || client?.offersResponses ?? false
        if case .some(.some(let error)) = exchange.outcome, !isWantedAlone || exchange.response == nil {
            if let response = exchange.response { record.withLock { $0.response = response } }
            throw error
        }
        guard let response = exchange.response else {
            throw LoadError(.networkConnectionLost, "The connection was lost before a response was complete.")
        }
        return response
    }

    /// Notes what happens before the head, and notifies the delegate: informational responses, and how much of the body
    /// has been sent.
    private func reportNews(of exchange: any Exchange, on loop: isolated TransferLoop) async {
        let responses = exchange.informational
        exchange.informational = []
        if !responses.isEmpty { note(responses) }
        guard let client, client.notifiesDelegate else { return }
        for response in responses {
            await client.received(informational: response.status, response.headerFields)
        }
        if let (new, total) = exchange.takeSentBytes() { await client.sentBodyBytes(new, of: total) }
    }

    private func note(_ responses: [Delivery.Informational]) {
        let url = currentRequest.url.withoutCredentials()
        record.withLock { record in
            for response in responses where response.status != .continue {
                record.steps.note(
                    InformationalResponse(url: url, status: response.status, headerFields: response.headerFields))
            }
        }
    }

    // MARK: The final response

    /// Whether somebody decides about the response.
    private var offersResponse: Bool { advised.contains(.response) || client?.offersResponses ?? false }

    /// Asks the adviser about the response, else the delegate.
    private func offer(_ response: Response, on loop: isolated TransferLoop) async throws(LoadError) {
        defer { state.leavesBody = false }
        var disposition = ResponseDisposition.allow
        if case .response(let answer) = try await advice(on: .response, on: loop, { .response(response) }) {
            disposition = answer
        } else if let client, client.offersResponses {
            disposition = try await answer(on: loop) { await client.disposition(of: response) }
        }
        switch disposition {
        case .allow: break
        case .cancel: throw LoadError(.cancelled, "The response was answered with cancel.")
        case .becomeDownload: client?.becomesDownload()
        }
    }

    /// Leaves the response, and the body if it is complete, with the task.
    ///
    /// Returns whether the load is complete.
    private func deliver(
        _ response: Response, of exchange: any Exchange, limit: Int
    ) throws(LoadError) -> Bool {
        let error = exchange.outcome ?? nil
        if let error, limit > 0, !endsItself { throw error }
        let isComplete = !endsItself && exchange.outcome != nil && error == nil && exchange.body.count <= limit
        let body = isComplete ? exchange.takeBody() : nil
        record.withLock { record in
            record.response = response
            record.completeBody = body
        }
        return isComplete
    }

    /// The complete body, when the load has kept it.
    private var completeBytes: [UInt8] { record.withLock { $0.completeBody } ?? [] }

    /// Whether the task has something to do between the body's end and its own.
    private var endsItself: Bool { client?.endsItself ?? false }

    // MARK: The body

    /// The next bytes of the body, or nil at its end, which completes the load.
    func nextBytes(on loop: isolated TransferLoop) async throws(LoadError) -> [UInt8]? {
        guard let exchange else { return nil }
        let bytes = await nextBytes(from: exchange, on: loop)
        if storing != nil { await store(bytes, on: loop) }
        guard bytes.isEmpty else { return bytes }
        guard case .some(var error) = exchange.outcome else { return bytes }
        if error == nil, let response = exchange.response {
            do throws(LoadError) { try await keepResponse(response, on: loop) } catch let refusal { error = refusal }
        }
        error = error.map { client?.finalError($0) ?? $0 }
        await complete(with: error, on: loop)
        if let error { throw error }
        return nil
    }

    /// The next bytes of the body, or nil at its end, which does not complete the load.
    func nextChunk(on loop: isolated TransferLoop) async throws(LoadError) -> [UInt8]? {
        try checkCancellation()
        guard let exchange else { return nil }
        let bytes = await nextBytes(from: exchange, on: loop)
        guard bytes.isEmpty, case .some(let error) = exchange.outcome else { return bytes }
        if let error { throw error }
        return nil
    }

    /// The next received bytes of a body; empty at its end.
    private func nextBytes(from exchange: any Exchange, on loop: isolated TransferLoop) async -> [UInt8] {
        while !exchange.isMet(.data) { await exchange.arrival(.data, isolation: loop) }
        return exchange.takeBody()
    }

    // MARK: The end

    /// The last step of every load; the first call counts.
    ///
    /// The delegate is notified before the task is over.
    func complete(with error: LoadError? = nil, on loop: isolated TransferLoop) async {
        if let notified = end(with: error) { await notified.finished(error) }
    }

    /// The same, except that it leaves the delegate to the caller.
    ///
    /// - Returns: The task whose delegate is to be notified; nil when there is none, or it was the call before.
    private func end(with error: LoadError?) -> (any LoadClient)? {
        if let error { exchange?.abort(error) }
        exchange = nil
        storing = nil
        let (isFirst, waiters) = record.withLock { record in
            defer { (record.phase, record.waiters) = (.completed, []) }
            if record.end == nil { record.end = .now }
            if record.phase != .completed { record.error = error }
            return (record.phase != .completed, record.waiters)
        }
        for waiter in waiters { waiter.resume() }
        guard isFirst, let client else { return nil }
        if client.notifiesDelegate { return client }
        client.leaveSession()
        return nil
    }
}
