import EventLoop
import HTTPTypes
import Synchronization

/// An exchange whose answer comes from a ``ProtocolHandler``.
///
/// The handler's call runs in a task of its own, off the loop's thread; its ``HandlerClient`` passes its reports on to
/// here.
// @unchecked: everything here is touched on the loop's thread alone.
final class HandlerExchange: Exchange, @unchecked Sendable {
    let request: Request
    let shared: SharedConfiguration
    let state: LoadState
    let delivery: Delivery
    /// The request that the handler leads to.
    private(set) var proposedRequest: Request?
    /// Where the handler allows the answer to be kept.
    private(set) var storagePolicy = CachedResponse.StoragePolicy.notAllowed
    /// The entry of the cache for the request.
    let cachedResponse: CachedResponse?

    private let handler: any ProtocolHandler
    private var running: Task<Void, Never>?
    /// The handler's call that waits for room.
    private var writer: CheckedContinuation<LoadError?, Never>?
    /// Whether a challenge of the handler's waits for its answer.
    private var isAsking = false
    private var lastActivity = MonotonicTime.now
    private var started = MonotonicTime.now
    private var timer: LoopTimer?

    init(
        request: Request, configuration: SharedConfiguration, state: LoadState, handler: any ProtocolHandler,
        cachedResponse: CachedResponse? = nil
    ) {
        self.handler = handler
        self.cachedResponse = cachedResponse
        self.request = request
        shared = configuration
        self.state = state
        delivery = Delivery(for: request)
    }

    /// Starts the handler; `ask` has its challenges answered.
    func start(asking ask: @escaping HandlerClient.Question) {
        started = .now
        noteActivity()
        let timer = LoopTimer { [weak self] in self?.timePassed() }
        self.timer = timer
        state.loop.set(timer, for: nextDeadline())
        metrics.fetchStart = .nanoseconds(started.nanoseconds(since: state.values.withLock { $0.start } ?? started))
        // The engine does not see what a handler sends, so the request counts as sent from here on.
        metrics.requestStart = .zero
        let client = HandlerClient(self, asking: ask)
        running = startApart { [self, handler, request] in
            var failure: LoadError?
            do throws(LoadError) {
                try await handler.load(request, client: client)
            } catch {
                failure = error
            }
            state.loop.perform { [failure] in self.finish(failure) }
        }
    }

    // MARK: Reports of the handler

    /// Takes a head; nil when the handler may go on.
    func received(
        _ response: Response, storagePolicy: CachedResponse.StoragePolicy, redirectingTo next: Request? = nil
    ) -> LoadError? {
        if let over { return over }
        noteActivity()
        guard self.response == nil else {
            return end(LoadError(.badServerResponse, "The protocol gave a second response where one is expected."))
        }
        self.response = response
        self.storagePolicy = storagePolicy
        proposedRequest = next
        metrics.responseStart = .nanoseconds(MonotonicTime.now.nanoseconds(since: started))
        if let maximum = shared.value.maximumResponseBytes, let length = response.expectedContentLength,
            length > maximum, request.method != .head
        {
            return end(LoadError(.dataLengthExceedsMaximum, "The body is larger than it may be."))
        }
        wakeIfMet()
        return nil
    }

    /// Takes bytes, and lets the handler go on when there is room for more.
    func received(body bytes: [UInt8], _ continuation: CheckedContinuation<LoadError?, Never>) {
        state.assertOnLoop()
        if let over { return continuation.resume(returning: over) }
        noteActivity()
        guard response != nil else {
            let error = LoadError(.badServerResponse, "The protocol gave data before a response.")
            return continuation.resume(returning: end(error))
        }
        bodyBytes += Int64(bytes.count)
        if let maximum = shared.value.maximumResponseBytes, bodyBytes > maximum {
            let error = LoadError(.dataLengthExceedsMaximum, "The body is larger than it may be.")
            return continuation.resume(returning: end(error))
        }
        state.countOfBytesReceived.add(Int64(bytes.count), ordering: .relaxed)
        body.append(contentsOf: bytes)
        writer = continuation
        isReceivingPaused = true
        wakeIfMet()
        if body.count < capacity { resumeReceiving() }
    }

    /// Makes the cached response the answer.
    func confirmCachedResponse() -> LoadError? {
        guard let cachedResponse else {
            return over ?? end(LoadError(.badServerResponse, "The protocol confirmed a response that is not cached."))
        }
        if let failure = received(cachedResponse.response, storagePolicy: .notAllowed) { return failure }
        response?.source = .revalidated
        body = cachedResponse.data
        bodyBytes = Int64(body.count)
        state.countOfBytesReceived.add(bodyBytes, ordering: .relaxed)
        finish(nil)
        return nil
    }

    /// The handler asks: while it waits for the answer it is not idle.
    ///
    /// Only before the response: later the load may be asking its delegates something itself.
    func waitForAnswer() -> LoadError? {
        if let over { return over }
        guard response == nil else {
            return end(LoadError(.badServerResponse, "The protocol asked for authentication after its response."))
        }
        isAsking = true
        return nil
    }

    func resumeAfterAnswer() -> LoadError? {
        isAsking = false
        noteActivity()
        return over
    }

    /// The handler has returned or thrown; later calls change nothing.
    private func finish(_ error: LoadError?) {
        guard outcome == nil else { return }
        let missing = LoadError(.badServerResponse, "The protocol gave no response.")
        conclude(error ?? (response == nil ? missing : nil))
    }

    /// Ends the exchange with an error of ours and returns it.
    private func end(_ error: LoadError) -> LoadError {
        conclude(error)
        return error
    }

    /// Why nothing more is taken; nil while it is.
    private var over: LoadError? { outcome == nil ? nil : LoadError(.cancelled, "The load is over.") }

    // MARK: Back-pressure and time

    func resumeReceiving() {
        state.assertOnLoop()
        guard !state.isSuspended, outcome == nil else { return }
        isReceivingPaused = false
        noteActivity()
        writer.take()?.resume(returning: nil)
    }

    func suspensionChanged() {
        noteActivity()
        if !state.isSuspended, body.count < capacity { resumeReceiving() }
    }

    private func noteActivity() { lastActivity = .now }

    private func nextDeadline() -> MonotonicTime {
        let idle = lastActivity.advanced(by: request.timeoutInterval ?? shared.value.timeoutIntervalForRequest)
        return state.expiry.map { min($0, idle) } ?? idle
    }

    /// Ends a load that takes too long; a handler that waits for its reader, or is suspended, is not idle.
    private func timePassed() {
        guard outcome == nil, let timer else { return }
        if let deadline = state.expiry, deadline <= .now {
            return abort(LoadError(.timedOut, "The resource took longer than it may."))
        }
        if isReceivingPaused || isAsking || state.isSuspended { lastActivity = .now }
        let deadline = nextDeadline()
        guard deadline <= .now else { return state.loop.set(timer, for: deadline) }
        abort(LoadError(.timedOut, "The protocol gave nothing for the idle interval."))
    }

    // MARK: The end

    func abort(_ error: LoadError) {
        guard outcome == nil else { return }
        failure = error
        conclude(error)
    }

    private func conclude(_ error: LoadError?) {
        state.assertOnLoop()
        outcome = .some(error?.at(request.url))
        running?.cancel()
        running = nil
        if let timer { state.loop.set(timer, for: nil) }
        timer = nil
        writer.take()?.resume(returning: over)
        metrics.status = response?.status.code
        metrics.networkProtocolName = response?.httpVersion
        metrics.countOfResponseBodyBytesReceived = bodyBytes
        metrics.countOfResponseBodyBytesAfterDecoding = bodyBytes
        metrics.responseEnd = .nanoseconds(MonotonicTime.now.nanoseconds(since: started))
        state.values.withLock { $0.transactions.append(metrics) }
        wakeIfMet()
    }
}
