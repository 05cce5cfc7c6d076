import CCurl
import HTTPTypes
import Synchronization

// When a request is sent more than once by libcurl or by us, without a status of the server that asks for it.

/// Why a transfer begins again, on another connection.
enum Restart {
    /// Something has come on the kept connection before the request was sent, or it was lost like the one before it.
    case connectionSpoiled
    /// The server does not know `Expect` (RFC 9110 §10.1.1).
    case withoutExpect
    /// The server has not looked at the request (RFC 9113 §8.7).
    case refused
}

/// The delimiter of a body.
enum BodyDelimiter {
    /// A length, that of chunks too, or that there is no body.
    case length
    /// The end of the connection.
    case connection
    /// The end of the stream of HTTP/2.
    case stream

    init(_ head: HeadCollector.Head, of method: HTTPRequest.Method) {
        let hasNoBody = method == .head || head.status.code == 204 || head.status.code == 304
        self =
            if head.contentLength != nil || hasNoBody { .length } else if head.httpVersion == "h2" { .stream } else {
                head.fields.contains(.transferEncoding) ? .length : .connection
            }
    }
}

/// The state of a transfer's stream of HTTP/2.
struct StreamState {
    /// Whether the watch of libcurl's streams works here.
    var isWatched = false
    /// Whether the server has said that nothing follows.
    var isEnded = false
    /// Whether the server has not looked at the request (RFC 9113 §8.7).
    var isRefused = false
}

extension Transfer {
    private static let refusedStream: UInt32 = 7

    func noteStream(_ event: ccurl_stream_event, _ code: UInt32) {
        switch event {
        case CCURL_STREAM_HAS_HEAD: stream.isWatched = true
        case CCURL_STREAM_HAS_END: stream.isEnded = true
        case CCURL_STREAM_IS_ABANDONED: endAbandoned()
        default: if code == Self.refusedStream, !stream.isWatched { stream.isRefused = true }
        }
    }

    /// Ends the transfer, for which libcurl may wait as long as it likes: no frame of its connection is read any more.
    ///
    /// Not at once, since libcurl is at work with it; and it may see the end itself.
    private func endAbandoned() {
        guard !stream.isEnded else { return }
        let attempt = requestCount
        partition.later { [weak self] in
            guard let self, stage == .running, requestCount == attempt else { return }
            abort(curlError(CURLE_HTTP2))
        }
    }

    /// Whether a body that libcurl calls whole was cut.
    var isCut: Bool {
        switch delimiter {
        case .stream: stream.isWatched && !stream.isEnded
        // RFC 9112 §9.8; without TLS this is unknown.
        case .connection: isSecure && handshake?.isEnded == false
        case .length: false
        }
    }

    /// Judges a request that libcurl is about to send once more, because it thinks that the connection was dead.
    ///
    /// It is unknown whether the server has acted on it already, so only an idempotent request may be sent twice, and no
    /// request more often (RFC 9110 §9.2.2, RFC 9112 §9.3.1). A request that the server has refused unread may be sent
    /// again in any case.
    func mayGoAgain() -> Bool {
        guard !hasLostConnection, stream.isRefused || request.method.isIdempotent else {
            return fail(.networkConnectionLost, "The connection was lost before an answer came.")
        }
        hasLostConnection = true
        metrics.connectionWasLost = !stream.isRefused
        noteTransaction()
        return true
    }

    /// Puts the transaction so far on record, and begins another.
    private func noteTransaction(status: Int? = nil) {
        finishMetrics()
        metrics.status = status
        state.values.withLock { $0.transactions.append(metrics) }
        let isProxyConnection = metrics.isProxyConnection
        metrics = TransactionMetrics(url: metrics.url)
        metrics.isProxyConnection = isProxyConnection
        stream = StreamState()
    }

    /// Gives up an answer that says no more than that `Expect` is not known.
    ///
    /// libcurl repeats such a request itself, but not when the server closes the connection.
    func beginsWithoutExpect(_ head: HeadCollector.Head) -> Bool {
        guard head.status == .expectationFailed, expectsContinue else { return false }
        restart = .withoutExpect
        return true
    }

    /// Begins again where the request can be repeated.
    ///
    /// - Returns: Whether the request must be sent on another connection, as if there had not been the first.
    func startAnew(after result: CURLcode) -> Bool {
        let isRefused = result != CURLE_OK && stream.isRefused && !hasLostConnection
        guard let restart = restart ?? (isRefused ? .refused : nil), failure == nil, state.cancellation == nil else {
            return false
        }
        self.restart = nil
        switch restart {
        case .connectionSpoiled:
            // The second step of a handshake comes when the body may have been sent once.
            guard !needsNewConnection, requestCount == 1 || rewindRequestBody(to: 0) else {
                return fail(.badServerResponse, "The server answers what it was not asked.")
            }
        case .withoutExpect:
            guard rewindRequestBody(to: 0) else {
                return fail(.requestBodyStreamExhausted, "The body of the request cannot be read again.")
            }
            neverExpects = true
            noteTransaction(status: HTTPResponse.Status.expectationFailed.code)
        case .refused:
            // Its body may be one that is read once.
            guard rewindRequestBody(to: 0) else { return false }
            hasLostConnection = true
            noteTransaction()
        }
        // Streams that are refused together go on together.
        needsNewConnection = restart != .refused
        forgetConnection()
        return true
    }

    func forgetConnection() {
        releaseHandle()
        (requestCount, headerBytes, handshakeCount) = (0, 0, 0)
        (hasShakenHands, isSendingPaused, handshake, proxyResponse) = (false, false, nil, nil)
        collector = HeadCollector(partition.names)
        proxyCollector = HeadCollector(partition.names)
        stream = StreamState()
        sockets = []
    }
}
