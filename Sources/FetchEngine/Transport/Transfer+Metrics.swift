import CCurl
import COpenSSL
import EventLoop
import HTTPTypes
import Synchronization

extension Transfer {
    /// Reads the values that only a live connection has.
    ///
    /// Called when the head has come.
    func noteConnection() {
        guard isSecure, let secureConnection, let version = SSL_get_version(secureConnection),
            let cipher = SSL_CIPHER_get_name(SSL_get_current_cipher(secureConnection))
        else { return }
        metrics.negotiatedTLSProtocolVersion = String(cString: version)
        metrics.negotiatedTLSCipherSuite = String(cString: cipher)
        if response?.status == .unauthorized {
            endPoint = SSL_get0_peer_certificate(secureConnection).flatMap(CertificateCoding.endPoint(of:))
        }
        guard let easy else { return }
        var connections = 0
        ccurl_get_long(easy, CURLINFO_NUM_CONNECTS, &connections)
        guard connections > 0 else { return }
        metrics.tlsSessionWasResumed = SSL_session_reused(secureConnection) == 1
        metrics.certificates = CertificateCoding.der(ofAll: SSL_get_peer_cert_chain(secureConnection))
    }

    /// Reads libcurl's clock and counters for the transaction.
    func finishMetrics() {
        metrics.status = response?.status.code
        metrics.networkProtocolName = response?.httpVersion
        metrics.cookieNames = CookieField(request.headerFields[fields: .cookie]).namesInOrder
        guard let easy, let started else { return }
        noteCounts(of: easy)
        noteTimes(of: easy)
        // With a reused connection, the look-up had no part in the transfer.
        let lookUp = metrics.isReusedConnection ? nil : lookUp
        if let start = state.values.withLock({ $0.start }) {
            metrics.fetchStart = .nanoseconds((lookUp?.start ?? started).nanoseconds(since: start))
        }
        if let lookUp { put(lookUp.start, lookUp.end, before: started) }
    }

    /// Begins the story with a look-up that was ours, not libcurl's.
    private func put(_ start: MonotonicTime, _ end: MonotonicTime, before started: MonotonicTime) {
        let delay = Duration.nanoseconds(started.nanoseconds(since: start))
        for time in [
            \TransactionMetrics.connectStart, \.connectEnd, \.secureConnectionStart, \.secureConnectionEnd,
            \.requestStart, \.requestEnd, \.responseStart,
        ] { metrics[keyPath: time] = metrics[keyPath: time].map { $0 + delay } }
        metrics.responseEnd += delay
        metrics.domainLookupStart = .zero
        metrics.domainLookupEnd = .nanoseconds(end.nanoseconds(since: start))
    }

    private func noteCounts(of easy: CurlHandle) {
        var connections = 0
        ccurl_get_long(easy, CURLINFO_NUM_CONNECTS, &connections)
        metrics.isReusedConnection = connections == 0 && requestCount > 0
        var requestBytes = 0
        ccurl_get_long(easy, CURLINFO_REQUEST_SIZE, &requestBytes)
        metrics.countOfRequestHeaderBytesSent = Int64(requestBytes)
        metrics.countOfRequestBodyBytesSent = Self.number(CURLINFO_SIZE_UPLOAD_T, of: easy)
        metrics.countOfResponseHeaderBytesReceived = Int64(headerBytes)
        let coded = decoder.map { _ in Self.number(CURLINFO_SIZE_DOWNLOAD_T, of: easy) }
        metrics.countOfResponseBodyBytesReceived = coded ?? bodyBytes
        metrics.countOfRequestBodyBytesBeforeEncoding =
            source?.countBeforeCoding ?? metrics.countOfRequestBodyBytesSent
        metrics.countOfResponseBodyBytesAfterDecoding = bodyBytes
    }

    /// Counts what was decoded after the end of the transfer, which is on record then.
    func noteDecodedBytes() {
        state.values.withLock { record in
            guard let last = record.transactions.indices.last else { return }
            record.transactions[last].countOfResponseBodyBytesAfterDecoding = bodyBytes
        }
    }

    private func noteTimes(of easy: CurlHandle) {
        let lookup = Self.time(CURLINFO_NAMELOOKUP_TIME_T, of: easy)
        let connect = Self.time(CURLINFO_CONNECT_TIME_T, of: easy)
        let secure = Self.time(CURLINFO_APPCONNECT_TIME_T, of: easy)
        if !metrics.isReusedConnection {
            metrics.domainLookupStart = lookup == nil ? nil : .zero
            metrics.domainLookupEnd = lookup
            metrics.connectStart = connect == nil ? nil : lookup
            metrics.connectEnd = secure ?? connect
            metrics.secureConnectionStart = secure == nil ? nil : connect
            metrics.secureConnectionEnd = secure
        }
        // A request that the server refused to look at counts as not sent.
        let wasSent = requestCount > 0 && !stream.isRefused
        metrics.requestStart = !wasSent ? nil : Self.time(CURLINFO_PRETRANSFER_TIME_T, of: easy)
        metrics.responseStart = response == nil ? nil : Self.time(CURLINFO_STARTTRANSFER_TIME_T, of: easy)
        // libcurl keeps no time for the last byte sent; without a body it is the first one's.
        metrics.requestEnd = source == nil ? metrics.requestStart : metrics.responseStart
        metrics.responseEnd = Self.time(CURLINFO_TOTAL_TIME_T, of: easy) ?? .zero
    }

    private static func number(_ info: CURLINFO, of easy: CurlHandle) -> Int64 {
        var value: curl_off_t = 0
        ccurl_get_offset(easy, info, &value)
        return Int64(value)
    }

    /// A time in libcurl's microseconds; nil when the phase did not happen.
    private static func time(_ info: CURLINFO, of easy: CurlHandle) -> Duration? {
        let microseconds = number(info, of: easy)
        return microseconds > 0 ? .microseconds(microseconds) : nil
    }
}
