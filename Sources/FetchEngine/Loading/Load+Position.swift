import EventLoop
import Glibc
import HTTPTypes
import Synchronization

// How a load is left at a question, and how another one goes on from there.
extension Load {
    // MARK: Leaving

    /// Where the load stands at a question; nil where it cannot be left.
    ///
    /// It can be left before a request, after a handshake that failed, and at a response that is whole.
    func position(at question: LoadQuestion) async -> LoadPosition? {
        await withCheckedContinuation { continuation in
            state.loop.perform { continuation.resume(returning: self.currentPosition(at: question)) }
        }
    }

    private func currentPosition(at question: LoadQuestion) -> LoadPosition? {
        state.assertOnLoop()
        guard cancellation == nil else { return nil }
        var position = LoadPosition()
        position.followedRedirects = redirects.followed
        switch question {
        case .redirection(_, let request, _, _):
            guard let answer = wholeAnswer else { return nil }
            position.hop = hop(request, answer)
            // Its response is read again, and counted then.
            position.followedRedirects -= 1
        case .challenge:
            let isOfResponse = exchange?.response != nil
            let answer = isOfResponse ? wholeAnswer : nil
            guard !isOfResponse || answer != nil else { return nil }
            position.hop = hop(currentRequest, answer)
        case .bodyStream(let request):
            guard request.bodyOffset == 0 else { return nil }
            position.hop = hop(request, nil)
        case .canonicalization(_, _, let isStrict):
            // From its beginning, when nothing has been sent, and nothing was asked that would be asked there again.
            let isFirst = !isStrict || !originalRequest.isChangedByParsing
            guard isFirst, redirects.followed == 0, exchange == nil else { return nil }
        case .response, .caching: return nil
        }
        position.authentication = authentication.results
        position.connections = connections
        position.steps = record.withLock { $0.steps.filter(\.isDecision) }
        let (start, transactions) = state.values.withLock { ($0.start, $0.transactions) }
        position.start = start.map { wallClock() - MonotonicTime.now.nanoseconds(since: $0) / 1000 }
        position.transactions = transactions
        return position
    }

    /// The response at hand, once its body has come.
    private var wholeAnswer: LoadPosition.Answer? {
        guard let exchange, let response = exchange.response, case .some(nil) = exchange.outcome,
            exchange.body.count <= LoadPosition.maximumBodyBytes
        else { return nil }
        return .init(response: response, body: exchange.body)
    }

    private func hop(_ request: Request, _ answer: LoadPosition.Answer?) -> LoadPosition.Hop {
        .init(
            url: request.url, method: request.method, headerFields: request.headerFields,
            content: content(of: request), isCoded: request.bodyCoding != nil, cachePolicy: request.cachePolicy,
            answer: answer)
    }

    private func content(of request: Request) -> LoadPosition.Hop.Content {
        switch (request.body, originalRequest.body) {
        case (nil, _): .none
        case (.bytes(let bytes), .bytes(let original)): bytes == original ? .original : .bytes(bytes)
        case (.bytes(let bytes), _): .bytes(bytes)
        case (let body?, let original?) where body.isSame(as: original): .original
        default: .given
        }
    }

    /// The time in microseconds since 1970.
    private func wallClock() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    // MARK: Going on

    /// Continues the load at the position that another load has left.
    ///
    /// - Returns: The request of the hop, and its response when that had come.
    func goOn(
        at hop: LoadPosition.Hop, of position: LoadPosition
    ) throws(LoadError) -> (Request, atHand: StoredExchange?) {
        state.assertOnLoop()
        var request = originalRequest
        request.url = hop.url
        request.method = hop.method
        request.headerFields = hop.headerFields
        request.cachePolicy = hop.cachePolicy
        switch hop.content {
        case .original: break
        case .none: request.body = nil
        case .bytes(let bytes): request.body = .bytes(bytes)
        case .given:
            guard let content = position.content else {
                throw LoadError(.fileDoesNotExist, "The content that the request sends is not there.")
            }
            request.body = content
        }
        if !hop.isCoded { request.bodyCoding = nil }
        redirects = RedirectMachine(configuration: configuration.redirects, followed: position.followedRedirects)
        authentication = AuthenticationMachine(
            schemes: configuration.authentication.schemeList, results: position.authentication)
        connections = position.connections
        record.withLock { $0.steps = position.steps }
        restoreMetrics(of: position)
        guard let answer = hop.answer else { return (request, nil) }
        proxy = try terms(for: request.url).httpProxy
        let exchange = StoredExchange(
            answer.response, body: answer.body, for: request, configuration: shared, state: state)
        take(exchange, for: request)
        return (request, exchange)
    }

    /// Goes on with the metrics of the load that was left: this one began when that did.
    private func restoreMetrics(of position: LoadPosition) {
        guard let start = position.start else { return }
        // The clock of another machine may be ahead.
        let elapsed = UInt64(clamping: wallClock() - start) * 1000
        state.values.withLock { values in
            values.transactions = position.transactions
            values.earlier = .nanoseconds(Int64(clamping: elapsed))
            values.start = values.start.map { MonotonicTime(nanoseconds: $0.nanoseconds &- elapsed) }
        }
    }
}

extension RequestBody {
    /// Whether it stands for the same content; streams of one load do.
    fileprivate func isSame(as other: RequestBody) -> Bool {
        switch (self, other) {
        case (.bytes(let bytes), .bytes(let others)): bytes == others
        case (.file(let path), .file(let other)): path == other
        case (.segments(let segments), .segments(let others)):
            segments.count == others.count && zip(segments, others).allSatisfy { $0.isSame(as: $1) }
        case (.stream, .stream): true
        default: false
        }
    }
}

extension RequestBody.Segment {
    fileprivate func isSame(as other: RequestBody.Segment) -> Bool {
        switch (self, other) {
        case (.bytes(let bytes), .bytes(let others)): bytes == others
        case (.file(let path), .file(let other)): path == other
        default: false
        }
    }
}
