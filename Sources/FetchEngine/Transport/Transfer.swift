import CCurl
import EventLoop
import HTTPTypes
import Synchronization

typealias CurlHandle = UnsafeMutableRawPointer

/// One request and its answer on one easy handle, which no other transfer ever uses (SEC-20).
///
/// libcurl's callbacks arrive here. They only note what came; decisions are made by the task that waits in
/// ``arrival(_:)``, after libcurl has returned.
// @unchecked: everything here is touched on the loop's thread alone.
final class Transfer: @unchecked Sendable {
    /// What the waiting task wants to see.
    enum Wish {
        /// The final head, and the end or more than this many bytes of the body.
        case head(bufferingUpTo: Int)
        /// Bytes of the body, or its end.
        case data
    }

    enum Stage { case queued, running, over }

    /// A body is received ahead of its reader up to this much; then the connection has to wait.
    static let highWater = 512 * 1024
    /// A redirect's body up to this size is read to its end, to keep the connection.
    static let redirectBodyLimit = 64 * 1024

    let request: Request
    let origin: URLRecord.Origin
    let configuration: SessionConfiguration
    let load: Load
    let partition: Partition
    let source: UploadSource?

    var stage = Stage.queued
    var easy: CurlHandle?
    var fieldList: UnsafeMutablePointer<curl_slist>?
    var errorText: UnsafeMutablePointer<CChar>?
    /// Where the sweep keeps it.
    var sweepIndex = -1
    var lastActivity: MonotonicTime
    var started: MonotonicTime?
    /// When a redirect's body has taken long enough.
    var redirectDeadline: MonotonicTime?

    /// Our own reason to fail; it goes before libcurl's.
    var failure: LoadError?
    /// Set when it is over: nil inside for success.
    var outcome: LoadError??
    var collector = HeadCollector()
    var response: Response?
    var trailers = HTTPFields()
    var headerBytes = 0
    var body: [UInt8] = []
    var bodyBytes: Int64 = 0
    var metrics: TransactionMetrics
    /// How often libcurl was about to send the request.
    var requestCount = 0

    var isReceivingPaused = false
    var isSendingPaused = false
    private var wish: Wish?
    private var waiter: CheckedContinuation<Void, Never>?

    /// Whether the request goes over TLS.
    var isSecure: Bool { origin.scheme == "https" }

    init(
        request: Request, configuration: SessionConfiguration, load: Load, partition: Partition, source: UploadSource?
    ) {
        self.request = request
        origin = request.url.origin
        self.configuration = configuration
        self.load = load
        self.partition = partition
        self.source = source
        lastActivity = .now
        metrics = TransactionMetrics(url: request.url.withoutCredentials())
    }

    deinit { releaseHandle() }

    // MARK: Waiting

    /// Suspends until the wish is met or the transfer is over.
    ///
    /// One task at a time.
    func arrival(_ wish: Wish, isolation: isolated TransferLoop) async {
        await withCheckedContinuation { continuation in
            self.wish = wish
            waiter = continuation
            // The loop may have turned on the way here.
            wakeIfMet()
        }
    }

    func isMet(_ wish: Wish) -> Bool {
        guard outcome == nil else { return true }
        guard let response else { return false }
        switch wish {
        case .data: return !body.isEmpty
        case .head(let limit):
            guard RedirectMachine.isRedirect(response.status.code) else { return limit == 0 || body.count > limit }
            return body.count > max(limit, Self.redirectBodyLimit) || redirectDeadline == nil
        }
    }

    /// Wakes the waiting task when it has what it waits for.
    ///
    /// Never called from within libcurl.
    func wakeIfMet() {
        guard let wish, isMet(wish) else { return }
        self.wish = nil
        waiter.take()?.resume()
    }

    /// How much body may be held: enough for a task that waits for a whole one.
    private var capacity: Int {
        if case .head(let limit) = wish { max(Self.highWater, limit &+ 1) } else { Self.highWater }
    }

    // MARK: What libcurl reports

    func received(headerLine line: UnsafeRawBufferPointer) -> Bool {
        lastActivity = partition.now
        headerBytes += line.count
        guard headerBytes <= configuration.maximumHeaderBytes else {
            return fail(.dataLengthExceedsMaximum, "The header section is larger than it may be.")
        }
        guard collector.append(line) else { return true }
        do {
            let ended = collector
            collector = HeadCollector()
            if response == nil { try headEnded(ended) } else { trailers += try ended.trailers() }
            return true
        } catch {
            failure = failure ?? error
            return false
        }
    }

    private func headEnded(_ ended: HeadCollector) throws(LoadError) {
        let head = try ended.head()
        // Informational answers are not the response; 101 is final, for we never ask to upgrade.
        guard head.status.code >= 200 || head.status.code == 101 else { return }
        if head.isFramedTwice, let easy { ccurl_set_long(easy, CURLOPT_FORBID_REUSE, 1) }
        let response = Response(
            url: request.url.withoutCredentials(), status: head.status, headerFields: head.fields,
            httpVersion: head.httpVersion, expectedContentLength: head.contentLength)
        self.response = response
        if RedirectMachine.isRedirect(head.status.code) {
            redirectDeadline = partition.now.advanced(by: .seconds(1))
            partition.sweep.noteDeadline(redirectDeadline)
        }
        if let maximum = configuration.maximumResponseBytes, let length = head.contentLength, length > maximum,
            request.method != .head, head.status.code != 304
        {
            throw LoadError(.dataLengthExceedsMaximum, "The body is larger than it may be.")
        }
        noteConnection()
        if head.httpVersion == "h2" { partition.noteMultiplexing(to: origin) }
        partition.noteChange(of: self)
    }

    /// The count that libcurl expects for accepted bytes, or its word for waiting or failing.
    func received(body bytes: UnsafeRawBufferPointer) -> Int {
        lastActivity = partition.now
        guard !load.isSuspended, body.count < capacity else {
            isReceivingPaused = true
            return Int(CURL_WRITEFUNC_PAUSE)
        }
        bodyBytes += Int64(bytes.count)
        if let maximum = configuration.maximumResponseBytes, bodyBytes > maximum {
            _ = fail(.dataLengthExceedsMaximum, "The body is larger than it may be.")
            return 0
        }
        load.countOfBytesReceived.add(Int64(bytes.count), ordering: .relaxed)
        if body.isEmpty { reserveBody(for: bytes.count) }
        body.append(contentsOf: bytes)
        partition.noteChange(of: self)
        return bytes.count
    }

    private func reserveBody(for count: Int) {
        let rest = (response?.expectedContentLength).map { $0 - bodyBytes + Int64(count) } ?? 0
        body.reserveCapacity(max(count, Int(min(max(rest, 0), Int64(Self.highWater / 2)))))
    }

    func fillRequestBody(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        lastActivity = partition.now
        guard let source else { return 0 }
        guard !load.isSuspended else {
            isSendingPaused = true
            return Int(CURL_READFUNC_PAUSE)
        }
        let count = source.read(into: buffer) { [weak self, loop = load.loop] in
            guard let transfer = self else { return }
            loop.perform { transfer.resumeSending() }
        }
        if count == Int(CURL_READFUNC_PAUSE) { isSendingPaused = true }
        if count >= 0, count <= buffer.count { load.countOfBytesSent.add(Int64(count), ordering: .relaxed) }
        return count
    }

    func rewindRequestBody(to offset: Int64) -> Bool { source?.seek(to: offset) ?? (offset == 0) }

    /// The last moment before the request leaves; false keeps it from leaving.
    func willSendRequest(to address: String, port: Int32, from localAddress: String, localPort: Int32) -> Bool {
        requestCount += 1
        metrics.remoteAddress = address
        metrics.remotePort = Int(port)
        metrics.localAddress = localAddress
        metrics.localPort = Int(localPort)
        guard failure == nil else { return false }
        // libcurl repeats a request whose kept connection turned out to be dead. Whether the server had already
        // acted on it nobody knows, so only a repeatable one may go twice (RFC 9110 §9.2.2).
        guard requestCount == 1 || request.method.isIdempotent else {
            return fail(.networkConnectionLost, "The connection was lost before an answer came.")
        }
        guard !partition.isUnrestricted else { return true }
        return admit(IPAddress(address), port: UInt16(truncatingIfNeeded: port))
    }

    /// Judges an address that is about to be connected or written to (SEC-11).
    func admit(_ address: IPAddress?, port: UInt16) -> Bool {
        guard !partition.isUnrestricted else { return true }
        guard let address else { return fail(.addressForbidden, "The address of the host is not allowed.") }
        do throws(TargetRefusal) {
            try partition.targetGuard.judge(address, port: port)
            return true
        } catch {
            return fail(.init(error.code.name), error.message)
        }
    }

    private func fail(_ code: LoadError.Code, _ message: String) -> Bool {
        if failure == nil { failure = LoadError(code, message) }
        return false
    }

    // MARK: Back-pressure

    /// Hands over what has come, and lets more come.
    func takeBody() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &body)
        if isReceivingPaused { resumeReceiving() }
        return taken
    }

    private func resumeReceiving() {
        guard stage == .running, !load.isSuspended else { return }
        isReceivingPaused = false
        applyPauses()
    }

    private func resumeSending() {
        guard stage == .running, isSendingPaused, !load.isSuspended else { return }
        isSendingPaused = false
        applyPauses()
    }

    func suspensionChanged() {
        guard stage == .running else { return }
        if !load.isSuspended {
            isReceivingPaused = false
            isSendingPaused = false
        }
        applyPauses()
    }

    /// Tells libcurl; it may call back at once with what it had kept.
    private func applyPauses() {
        guard let easy else { return }
        lastActivity = .now
        let receiving = isReceivingPaused || load.isSuspended ? CURLPAUSE_RECV : 0
        let sending = isSendingPaused || load.isSuspended ? CURLPAUSE_SEND : 0
        partition.perform { curl_easy_pause(easy, receiving | sending) }
    }

    // MARK: Time

    /// When it is too late; looked at when the sweep passes.
    func nextDeadline() -> MonotonicTime? {
        var next = load.deadline
        func consider(_ deadline: MonotonicTime) { next = min(next ?? deadline, deadline) }
        guard stage == .running else { return next }
        if let redirectDeadline { consider(redirectDeadline) }
        if !isReceivingPaused, !load.isSuspended { consider(lastActivity.advanced(by: idleInterval)) }
        return next
    }

    private var idleInterval: Duration { request.timeoutInterval ?? configuration.timeoutIntervalForRequest }

    /// Acts on the deadlines that have passed.
    func expire(at now: MonotonicTime) {
        if let deadline = load.deadline, deadline <= now {
            abort(LoadError(.timedOut, "The resource took longer than it may."))
        } else if stage == .running, !isReceivingPaused, !load.isSuspended,
            lastActivity.advanced(by: idleInterval) <= now
        {
            abort(LoadError(.timedOut, "No byte moved for the idle interval."))
        } else if let deadline = redirectDeadline, deadline <= now {
            redirectDeadline = nil
            wakeIfMet()
        }
    }

    // MARK: The end

    /// Ends the transfer from outside libcurl; its connection is closed unless it was idle.
    func abort(_ error: LoadError) {
        guard stage != .over else { return }
        failure = error
        partition.finish(self, result: CURLE_ABORTED_BY_CALLBACK)
    }

    /// Notes the end.
    ///
    /// Called once, by the partition, while the handle still knows its times.
    func finished(_ result: CURLcode) {
        stage = .over
        if result == CURLE_OK { readTrailers() }
        let error = failure ?? source?.failure ?? (result == CURLE_OK ? nil : curlError(result))
        outcome = .some(error?.at(request.url))
        finishMetrics()
        releaseHandle()
        load.record.withLock { record in
            record.transactions.append(metrics)
            record.trailers = trailers
        }
    }

    /// libcurl reports the lines of a trailer section, but not its end.
    private func readTrailers() {
        guard response != nil else { return }
        do throws(LoadError) {
            trailers += try collector.trailers()
        } catch {
            failure = failure ?? error
        }
    }

    private func curlError(_ result: CURLcode) -> LoadError {
        var verification = 0
        if let easy { ccurl_get_long(easy, CURLINFO_SSL_VERIFYRESULT, &verification) }
        return LoadError(
            curl: result, detail: errorText.map { String(cString: $0) } ?? "", verification: verification)
    }

    private func releaseHandle() {
        if let easy { curl_easy_cleanup(easy) }
        easy = nil
        if let fieldList { curl_slist_free_all(fieldList) }
        fieldList = nil
        errorText?.deallocate()
        errorText = nil
    }
}

extension HTTPRequest.Method {
    /// RFC 9110 §9.2.2.
    var isIdempotent: Bool {
        switch self {
        case .get, .head, .put, .delete, .options: true
        default: false
        }
    }
}
