import CCurl
import EventLoop
import HTTPTypes
import Synchronization

typealias CurlHandle = UnsafeMutableRawPointer

/// One request and its answer on one easy handle, which no other transfer ever uses (SEC-20).
///
/// libcurl's callbacks arrive here.
// @unchecked: everything here is touched on the loop's thread alone.
final class Transfer: Exchange, @unchecked Sendable {
    let request: Request
    let shared: SharedConfiguration
    let state: LoadState
    let delivery: Delivery

    /// It waits for its turn at its origin, then for descriptors, and runs.
    enum Stage { case queued, waiting, running, over }

    let origin: URLRecord.Origin
    let terms: ConnectionTerms
    let partition: Partition
    let source: UploadSource?
    /// Whether the request goes over TLS.
    let isSecure: Bool
    /// Whether FTP is spoken: not so when an HTTP proxy is asked for the file.
    let speaksFTP: Bool
    /// Whether the answer to CONNECT comes before the target's.
    let isTunnelled: Bool
    var authorization: Authorization?
    var proxyAuthorization: Authorization?
    /// Whether libcurl was given the second step of a handshake.
    var hasShakenHands = false
    /// Whether, and why, it is to begin again.
    @exclusivity(unchecked) var restart: Restart?
    var needsNewConnection = false
    /// Whether the connection was lost once, and the request sent again.
    var hasLostConnection = false
    var stream = StreamState()
    var delimiter = BodyDelimiter.length
    /// The sockets that libcurl asked for.
    var sockets: [Int32] = []
    /// Whether the system had none to give.
    var lacksDescriptor = false
    /// How many descriptors are set apart for it.
    var reserved = 0

    @exclusivity(unchecked) var stage = Stage.queued
    @exclusivity(unchecked) var easy: CurlHandle?
    var fieldList: UnsafeMutablePointer<curl_slist>?
    /// The fields for the proxy only.
    var proxyFieldList: UnsafeMutablePointer<curl_slist>?
    /// The addresses that it may connect to.
    var addresses = VettedAddresses.any
    /// When those were looked up for it.
    var lookUp: (start: MonotonicTime, end: MonotonicTime)?
    var addressList: UnsafeMutablePointer<curl_slist>?
    var errorText: UnsafeMutablePointer<CChar>?
    /// Where the sweep keeps it.
    @exclusivity(unchecked) var sweepIndex = -1
    /// Its place among those that wait for a connection.
    var ticket: UInt64 = 0
    @exclusivity(unchecked) var lastActivity: MonotonicTime
    var started: MonotonicTime?
    @exclusivity(unchecked) var collector: HeadCollector
    @exclusivity(unchecked) var headerBytes = 0
    /// How often libcurl was about to send the request.
    @exclusivity(unchecked) var requestCount = 0
    /// The head of the request as far as libcurl has sent it; nil once it is on record, and where it is not recorded.
    var sentHead: [UInt8]?
    var isSendingPaused = false
    /// The bandwidths that it shares with others, and the one of its own.
    let bandwidthSource: (@Sendable () -> [Bandwidth])?
    private(set) var ownBandwidth: Bandwidth?
    @exclusivity(unchecked) var throttles = Throttles()
    /// Undoes the content coding; nil when there is none, or the caller does it.
    @exclusivity(unchecked) var decoder: ContentDecoder?
    var isToDecodeLater = false
    /// Checks the digest of the body; nil when none is stated.
    @exclusivity(unchecked) var contentCheck: ContentCheck?
    /// Whether the request waits for a `100 Continue` before its body.
    var expectsContinue = false
    /// Whether the server does not know how to give it.
    var neverExpects = false
    /// The TLS handshake of the connection, and how many there were on the way to it.
    var handshake: Handshake?
    var handshakeCount = 0
    /// What binds an authentication to the connection, where the response asks for one.
    var endPoint: [UInt8]?
    /// The response of the proxy to CONNECT when it did not connect.
    var proxyResponse: Response?
    var proxyCollector: HeadCollector
    /// The last reply of an FTP server.
    var ftpReply: FTPReply?

    /// The owner that takes turns with others when descriptors are few.
    var owner: DescriptorLine.Owner {
        shared.value.owner.map { .named($0) } ?? .session(partition.key.session)
    }

    var priority: Float { state.values.withLock { $0.priority } }

    init(
        request: Request, configuration: SharedConfiguration, state: LoadState, terms: ConnectionTerms,
        partition: Partition, source: UploadSource?
    ) {
        self.request = request
        shared = configuration
        self.state = state
        delivery = Delivery(for: request)
        let origin = request.url.origin
        self.origin = origin
        self.terms = terms
        let isHTTPProxied = terms.httpProxy != nil
        isSecure = request.url.layout.special == .https
        speaksFTP = request.url.isFTP && !(isHTTPProxied && origin.scheme == "ftp")
        isTunnelled = isHTTPProxied && origin.scheme != "http" && origin.scheme != "ftp"
        self.partition = partition
        self.source = source
        collector = HeadCollector(partition.names)
        proxyCollector = HeadCollector(partition.names)
        lastActivity = .now
        let (common, own) = state.values.withLock { ($0.bandwidths, $0.maximumBytesPerSecond) }
        bandwidthSource = common
        ownBandwidth = (own ?? configuration.value.maximumBytesPerSecond).map { Bandwidth(bytesPerSecond: $0) }
    }

    deinit { releaseHandle() }

    // MARK: Callbacks of libcurl

    func received(headerLine line: UnsafeRawBufferPointer) -> Bool {
        state.assertOnLoop()
        lastActivity = partition.now
        headerBytes += line.count
        guard headerBytes <= shared.value.maximumHeaderBytes else {
            return fail(.dataLengthExceedsMaximum, "The header section is larger than it may be.")
        }
        guard !takenElsewhere(headerLine: line), collector.append(line) else { return true }
        do {
            let ended = collector
            collector = HeadCollector(partition.names)
            if response == nil { try headEnded(ended) } else { trailers += try ended.trailers() }
            return restart == nil
        } catch {
            failure = failure ?? error
            return false
        }
    }

    private func headEnded(_ ended: HeadCollector) throws(LoadError) {
        let head = try ended.head()
        guard head.status.code != HTTPResponse.Status.switchingProtocols.code else {
            throw LoadError(.badServerResponse, "The server changes to a protocol that nobody has asked for.")
        }
        // Informational answers are not the response.
        guard head.status.code >= 200 else { return note(informational: head) }
        guard !beginsWithoutExpect(head) else { return }
        guard !isHandshakeStep(head) else { return }
        try prepareDecoding(of: head)
        if head.saysDigests { prepareCheck(of: head) }
        if head.isFramedTwice, let easy { ccurl_set_long(easy, CURLOPT_FORBID_REUSE, 1) }
        let response = Response(
            url: request.url.withoutCredentials(), status: head.status, headerFields: head.fields,
            httpVersion: head.httpVersion, expectedContentLength: decoder == nil ? head.contentLength : nil)
        self.response = response
        if recordsFields { record(fields: head.fields) }
        if ExchangeLimits.mayBeRepeated(head.status.code) {
            redirectDeadline = partition.now.advanced(by: .seconds(1))
            partition.sweep.noteDeadline(redirectDeadline)
        }
        if let maximum = shared.value.maximumResponseBytes, let length = head.contentLength, length > maximum,
            request.method != .head, head.status.code != 304
        {
            throw LoadError(.dataLengthExceedsMaximum, "The body is larger than it may be.")
        }
        noteConnection()
        delimiter = BodyDelimiter(head, of: request.method)
        if head.httpVersion == "h2" { partition.noteMultiplexing(to: origin) }
        #if DEBUG
            CrashPoint.responseHead.pass()
        #endif
        partition.noteChange(of: self)
    }

    private func note(informational head: HeadCollector.Head) {
        if head.status.code == HTTPResponse.Status.uploadResumptionSupported { noteUploadURL(head.fields) }
        guard state.notifiesDelegate || head.status.code != HTTPResponse.Status.continue.code else { return }
        // One that nobody reads meanwhile is one of many.
        guard informational.count < ExchangeLimits.maximumInformational else { return }
        informational.append(Delivery.Informational(status: head.status, headerFields: head.fields))
        partition.noteChange(of: self)
    }

    /// Where the server keeps the received part of the body; only http and https, and never less safe than the upload.
    private func noteUploadURL(_ fields: HTTPFields) {
        guard request.headerFields.contains(.uploadComplete), let location = fields[values: .location].first,
            let url = try? partition.targetGuard.target(location, from: request.url), url.isHTTP, !url.hasCredentials,
            url.scheme == "https" || !isSecure
        else { return }
        state.values.withLock { $0.uploadURL = url.withoutFragment() }
    }

    /// The count that libcurl expects for accepted bytes, or its code for waiting or failing.
    func received(body bytes: UnsafeRawBufferPointer) -> Int {
        state.assertOnLoop()
        lastActivity = partition.now
        if speaksFTP { ftpTransferBegan() }
        // The body of an answer that libcurl itself acts on.
        guard response != nil else { return bytes.count }
        guard !state.isSuspended, body.count < capacity, decoder?.isDrained ?? true else {
            isReceivingPaused = true
            return Int(CURL_WRITEFUNC_PAUSE)
        }
        guard mayReceive(bytes.count) else { return Int(CURL_WRITEFUNC_PAUSE) }
        #if DEBUG
            CrashPoint.responseBody.pass()
        #endif
        if decoder != nil {
            defer { partition.noteChange(of: self) }
            return receivedCoded(bytes) ? bytes.count : 0
        }
        bodyBytes += Int64(bytes.count)
        if let maximum = shared.value.maximumResponseBytes, bodyBytes > maximum {
            _ = fail(.dataLengthExceedsMaximum, "The body is larger than it may be.")
            return 0
        }
        state.countOfBytesReceived.add(Int64(bytes.count), ordering: .relaxed)
        contentCheck?.append(bytes)
        if body.isEmpty {
            body = Array(bytes)
        } else {
            if body.count + bytes.count > body.capacity { reserveBody(for: bytes.count) }
            body.append(contentsOf: bytes)
        }
        partition.noteChange(of: self)
        return bytes.count
    }

    /// Makes room at once for the bytes expected before the reader comes: to grow means to copy.
    ///
    /// Not before a second piece is there: a body that comes slowly is read piece by piece.
    private func reserveBody(for count: Int) {
        let rest = (response?.expectedContentLength).map { $0 - bodyBytes + Int64(count) } ?? 0
        let ahead = min(max(rest, 0), Int64(max(ExchangeLimits.highWater - body.count, 0)))
        body.reserveCapacity(body.count + max(count, Int(ahead)))
    }

    func fillRequestBody(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        state.assertOnLoop()
        lastActivity = partition.now
        guard let source else { return 0 }
        guard !state.isSuspended else {
            isSendingPaused = true
            return Int(CURL_READFUNC_PAUSE)
        }
        guard let room = sendable(buffer) else { return Int(CURL_READFUNC_PAUSE) }
        let count = source.read(into: room) { [weak self, loop = state.loop] in
            guard let transfer = self else { return }
            loop.perform { transfer.resumeSending() }
        }
        throttles.sending.keep(room.count - (count <= room.count ? count : 0))
        if count == Int(CURL_READFUNC_PAUSE) { isSendingPaused = true }
        if count > 0, count <= buffer.count {
            state.noteSent(count)
            if state.notifiesDelegate { partition.noteChange(of: self) }
        }
        return count
    }

    func rewindRequestBody(to offset: Int64) -> Bool {
        guard source?.seek(to: offset) ?? (offset == 0) else { return false }
        // Bytes that are sent again are counted again, from the beginning (UPL-9).
        state.countOfBytesSent.store(offset, ordering: .relaxed)
        return true
    }

    /// The last moment before the request leaves; false keeps it from leaving.
    func willSendRequest(to address: String, port: Int32, from localAddress: String, localPort: Int32) -> Bool {
        requestCount += 1
        // libcurl repeats a request whose kept connection turned out to be dead, and the last step of a handshake.
        let isLost = requestCount > 1 && !isEndingHandshake
        let isRefused = stream.isRefused
        guard !isLost || mayGoAgain() else { return false }
        partition.descriptors.connected(self)
        metrics.remoteAddress = address
        metrics.remotePort = Int(port)
        metrics.localAddress = localAddress
        metrics.localPort = Int(localPort)
        noteHandshake()
        guard failure == nil else { return false }
        let ends = ConnectionTable.Ends(address: address, port: port, localPort: localPort)
        let kept = partition.connections.reused(ends, own: sockets)
        // Of two kept connections that are dead the second would be the end; but for those that many streams share, and
        // that another transfer has made anew.
        if let socket = kept,
            isLost && !isRefused && !isMultiplexed(secureConnection) || !isQuiet(socket)
        {
            restart = .connectionSpoiled
            return false
        }
        guard mayGoOnShakingHands else {
            return fail(.userAuthenticationRequired, "The server never ends the handshake of NTLM.")
        }
        if !partition.isUnrestricted {
            let (address, port) = (IPAddress(address), UInt16(truncatingIfNeeded: port))
            // A kept connection may go to an address that an earlier look-up found.
            guard kept == nil ? mayDial(address, port: port) : admit(address, port: port) else { return false }
        }
        if recordsFields { recordSentHead() }
        #if DEBUG
            CrashPoint.transferStarted.pass()
            // libcurl sends the head before it returns.
            partition.later { CrashPoint.requestSent.pass() }
        #endif
        return true
    }

    /// Judges an address that is about to be connected, or was (SEC-11): it has to be one of those that were looked up.
    func mayDial(_ address: IPAddress?, port: UInt16) -> Bool {
        if let address, !addresses.allows(address) {
            return fail(.addressForbidden, "The address is not one of those that the host had.")
        }
        return admit(address, port: port)
    }

    /// Judges an address that is about to be connected or written to (SEC-11).
    func admit(_ address: IPAddress?, port: UInt16) -> Bool {
        guard !partition.isUnrestricted else { return true }
        guard let address else { return fail(.addressForbidden, "The address of the host is not allowed.") }
        do throws(TargetRefusal) {
            if speaksFTP, let control = origin.port, port != control {
                try partition.targetGuard.judge(dataConnectionTo: address, port: port, of: control, for: origin.scheme)
            } else {
                // A proxy is judged as the http target that it is, here as where it is looked up.
                let scheme = terms.proxy == nil ? origin.scheme : "http"
                try partition.targetGuard.judge(address, port: port, for: scheme)
            }
            return true
        } catch {
            return fail(LoadError(refused: terms.proxy == nil ? error : .proxy(error)))
        }
    }

    // MARK: Back-pressure

    func useRoom() {
        decodeMore()
        if decoder?.isDrained ?? true { resumeIfRoom() }
    }

    func resumeReceiving() {
        guard stage == .running, !state.isSuspended else { return }
        isReceivingPaused = false
        applyPauses()
    }

    private func resumeSending() {
        guard stage == .running, isSendingPaused, !state.isSuspended else { return }
        isSendingPaused = false
        applyPauses()
    }

    func suspensionChanged() {
        guard stage == .running else { return deadlineChanged() }
        if !state.isSuspended {
            isReceivingPaused = false
            isSendingPaused = false
        }
        applyPauses()
    }

    /// Tells libcurl; it may call back at once with the bytes that it had kept.
    func applyPauses() {
        guard let easy else { return }
        lastActivity = .now
        // A sweep that passed while it was paused has left it out.
        deadlineChanged()
        partition.perform { curl_easy_pause(easy, pauses) }
    }

    private var pauses: Int32 {
        let mayNot = state.isSuspended
        let receiving = mayNot || isReceivingPaused || throttles.receiving.lookAt != nil ? CURLPAUSE_RECV : 0
        let sending = mayNot || isSendingPaused || throttles.sending.lookAt != nil ? CURLPAUSE_SEND : 0
        return receiving | sending
    }

    /// Has libcurl look at the transfer in the loop's next turn, as it does after any change of what is paused.
    func runNow() {
        guard let easy else { return }
        curl_easy_pause(easy, pauses ^ CURLPAUSE_SEND)
        curl_easy_pause(easy, pauses)
    }

    func priorityChanged() { partition.requeue(self) }

    func deadlineChanged() {
        if sweepIndex >= 0 { partition.sweep.noteDeadline(nextDeadline()) }
    }

    func speedChanged() {
        let limit = state.values.withLock { $0.maximumBytesPerSecond } ?? shared.value.maximumBytesPerSecond
        if let ownBandwidth {
            ownBandwidth.bytesPerSecond = limit
        } else {
            ownBandwidth = limit.map { Bandwidth(bytesPerSecond: $0) }
        }
    }

    // MARK: Time

    /// When it is too late; looked at when the sweep passes.
    func nextDeadline() -> MonotonicTime? {
        var next = state.expiry
        func consider(_ deadline: MonotonicTime) { next = min(next ?? deadline, deadline) }
        guard stage == .running else { return next }
        if let redirectDeadline { consider(redirectDeadline) }
        if let lookAt = throttles.lookAt { consider(lookAt) }
        if mayBeIdle { consider(lastActivity.advanced(by: idleInterval)) }
        return next
    }

    /// Whether it is the other side's turn to move bytes.
    private var mayBeIdle: Bool { !isReceivingPaused && !state.isSuspended && throttles.lookAt == nil }

    private var idleInterval: Duration { request.timeoutInterval ?? shared.value.timeoutIntervalForRequest }

    /// Acts on the deadlines that have passed.
    func expire(at now: MonotonicTime) {
        if let deadline = state.expiry, deadline <= now {
            abort(LoadError(.timedOut, "The resource took longer than it may."))
        } else if stage == .running, mayBeIdle, lastActivity.advanced(by: idleInterval) <= now {
            abort(LoadError(.timedOut, "No byte moved for the idle interval."))
        } else if let lookAt = throttles.lookAt, lookAt <= now {
            lookAtThrottles(at: now)
        } else if let deadline = redirectDeadline, deadline <= now {
            redirectDeadline = nil
            wakeIfMet()
        }
    }

    // MARK: The end

    /// Ends the transfer from outside libcurl; its connection is closed unless it was idle.
    func abort(_ error: LoadError) {
        guard stage != .over else { return conclude(with: error) }
        failure = error
        partition.finish(self, result: CURLE_ABORTED_BY_CALLBACK)
    }

    /// Notes the end.
    ///
    /// Called once, by the partition, while the handle still knows its times.
    func finished(_ result: CURLcode) {
        state.assertOnLoop()
        stage = .over
        if result == CURLE_OK {
            speaksFTP ? ftpTransferEnded() : readTrailers()
            checkContent()
        }
        let lost = result == CURLE_OK && isCut ? CURLE_PARTIAL_FILE : result
        let error = failure ?? source?.failure ?? (lost == CURLE_OK ? nil : curlError(lost))
        if error == nil, decoder != nil { finishDecoding() } else { outcome = .some(error?.at(request.url)) }
        finishMetrics()
        releaseHandle()
        state.values.withLock { record in
            record.transactions.append(metrics)
            record.trailers = trailers
        }
    }

    /// libcurl reports the lines of a trailer section, but not its end.
    private func readTrailers() {
        guard response != nil, !collector.isEmpty else { return }
        do throws(LoadError) {
            trailers += try collector.trailers()
        } catch {
            failure = failure ?? error
        }
    }

    func curlError(_ result: CURLcode) -> LoadError {
        if result == CURLE_PARTIAL_FILE, bodyBytes == 0, response?.expectedContentLength ?? 0 > 0 {
            return LoadError(.zeroByteResource, "The server announced content and closed the connection without any.")
        }
        var (verification, systemError) = (0, 0)
        if let easy {
            ccurl_get_long(easy, CURLINFO_SSL_VERIFYRESULT, &verification)
            ccurl_get_long(easy, CURLINFO_OS_ERRNO, &systemError)
        }
        let error = LoadError(
            curl: result, detail: errorText.map { String(cString: $0) } ?? "", verification: verification,
            systemError: systemError, wasSent: requestCount > 0)
        return connectionError(error, result)
    }

    func releaseHandle() {
        if let easy { curl_easy_cleanup(easy) }
        easy = nil
        if let proxyFieldList { curl_slist_free_all(proxyFieldList) }
        proxyFieldList = nil
        if let fieldList { curl_slist_free_all(fieldList) }
        fieldList = nil
        if let addressList { curl_slist_free_all(addressList) }
        addressList = nil
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
