import CCurl
import EventLoop
import HeapModule

/// A multi handle and the transfers that may share its connections (SEC-21).
///
/// It starts them in order, as many at a time to one origin as the configuration allows: libcurl's own queue is
/// never used.
// @unchecked: everything here is touched on the loop's thread alone.
final class Partition: DescriptorHandler, @unchecked Sendable {
    /// The terms that must be equal for connections to be shared.
    struct Key: Hashable {
        let session: UInt64
        let settings: ConnectionSettings
        let terms: ConnectionTerms
        let credential: ConnectionCredential?
        /// Most connections are made on the same terms, which are long to compare.
        private let isPlain: Bool

        init(
            session: UInt64, settings: ConnectionSettings, terms: ConnectionTerms, credential: ConnectionCredential?
        ) {
            self.session = session
            self.settings = settings
            self.terms = terms
            self.credential = credential
            isPlain = terms.isPlain
        }

        static func == (left: Key, right: Key) -> Bool {
            left.session == right.session && left.isPlain == right.isPlain && left.settings == right.settings
                && left.credential == right.credential && (left.isPlain || left.terms == right.terms)
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(session)
            hasher.combine(settings)
            if !isPlain { hasher.combine(terms) }
        }
    }

    /// The transfers of one origin.
    private final class Line {
        @exclusivity(unchecked) var running = 0
        /// The places of waiting transfers, and places that were given up since.
        @exclusivity(unchecked) var queue = Heap<Place>()
        @exclusivity(unchecked) var waiting = 0
    }

    /// A transfer's place in line: the highest priority first, and of equals who came first.
    private struct Place: Comparable {
        let priority: Float
        let ticket: UInt64
        let transfer: Transfer

        /// Whether the transfer still stands there.
        var isTaken: Bool { transfer.stage == .queued && transfer.ticket == ticket }

        static func < (left: Place, right: Place) -> Bool {
            left.priority != right.priority ? left.priority < right.priority : left.ticket > right.ticket
        }

        static func == (left: Place, right: Place) -> Bool { left.ticket == right.ticket }
    }

    /// Large enough for a fast body; pages that no byte reaches cost an idle transfer nothing.
    ///
    /// Below 64 KiB, from where on glibc tidies its whole arena at each `free`.
    static let receiveBufferSize = 60 * 1024
    /// That of a load whose adviser decides about the response, which may take days: libcurl keeps the buffer, and what it
    /// has read into it and could not deliver.
    static let receiveBufferSizeWhileUndecided = 8 * 1024
    /// HTTP/2 streams to one origin at a time, on any number of connections.
    private static let maximumStreams = 100

    let key: Key
    let targetGuard: TargetGuard
    let isUnrestricted: Bool
    let share: UnsafeMutableRawPointer?
    let sweep: DeadlineSweep
    let names = FieldNames()
    let connections: ConnectionTable
    let descriptors: DescriptorLine
    /// The time when the loop last turned to libcurl.
    @exclusivity(unchecked) private(set) var now = MonotonicTime.now
    @exclusivity(unchecked) private(set) var count = 0
    @exclusivity(unchecked) private(set) var lastUse = MonotonicTime.now

    private let loop: EventLoop
    /// Made when the first transfer starts.
    private var multi: UnsafeMutableRawPointer?
    @exclusivity(unchecked) private var lines: [URLRecord.Origin: Line] = [:]
    private var multiplexing: Set<URLRecord.Origin> = []
    @exclusivity(unchecked) private var confirmed: Set<URLRecord.Origin> = []
    @exclusivity(unchecked) private var changed: [Transfer] = []
    /// Those that have lost a socket before they were connected.
    @exclusivity(unchecked) private var refused: [Transfer] = []
    /// Whether libcurl works on transfers, and does not just end one.
    @exclusivity(unchecked) private var isDriving = false
    @exclusivity(unchecked) private var lastTicket: UInt64 = 0
    private var timer: CurlTimer?
    private lazy var ftpPoller = FTPPoller(loop: loop) { [weak self] in self?.driveAll() }

    init(key: Key, loop: EventLoop, sweep: DeadlineSweep, descriptors: DescriptorLine) {
        self.key = key
        self.loop = loop
        self.sweep = sweep
        self.descriptors = descriptors
        connections = ConnectionTable(descriptors.budget)
        targetGuard = TargetGuard(policy: key.settings.targetPolicy)
        isUnrestricted = key.settings.targetPolicy == .unrestricted
        share = curl_share_init()
        if let share { ccurl_share_data(share, CURL_LOCK_DATA_SSL_SESSION) }
        timer = CurlTimer(loop: loop) { [weak self] in self?.timerFired() }
    }

    /// Whether libcurl has something for it.
    var isOpen: Bool { multi != nil }

    private func open() -> UnsafeMutableRawPointer {
        if let multi { return multi }
        guard let multi = curl_multi_init() else { preconditionFailure("no memory is left for libcurl") }
        self.multi = multi
        descriptors.budget.take(DescriptorLine.perPartition)
        let context = Unmanaged.passUnretained(self).toOpaque()
        ccurl_multi_set_socket_function(multi, socketChanged)
        ccurl_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, context)
        ccurl_multi_set_timer_function(multi, timerChanged)
        ccurl_multi_set_pointer(multi, CURLMOPT_TIMERDATA, context)
        ccurl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        // The connections of one partition leave room for those of others.
        ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, max(8, min(1024, descriptors.budget.limit / 4)))
        // The server states how many streams it takes; streams that libcurl would put elsewhere need another handshake.
        ccurl_multi_set_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, 1024)
        return multi
    }

    deinit {
        if let multi {
            ccurl_multi_set_socket_function(multi, nil)
            ccurl_multi_set_timer_function(multi, nil)
            curl_multi_cleanup(multi)
            descriptors.budget.giveBack(DescriptorLine.perPartition)
        }
        if let share { curl_share_cleanup(share) }
    }

    // MARK: Starting and ending

    /// Starts a transfer, now or when its turn comes.
    func enqueue(_ transfer: Transfer) {
        loop.assertOnLoop()
        count += 1
        sweep.add(transfer)
        let line = line(for: transfer.origin)
        line.waiting += 1
        queue(transfer, in: line)
        startWaiting(in: line)
    }

    /// Gives a waiting transfer the place of its priority; the one it had is void.
    func requeue(_ transfer: Transfer) {
        loop.assertOnLoop()
        guard transfer.stage == .queued, let line = lines[transfer.origin] else { return }
        queue(transfer, in: line)
    }

    private func queue(_ transfer: Transfer, in line: Line) {
        lastTicket += 1
        transfer.ticket = lastTicket
        line.queue.insert(Place(priority: transfer.priority, ticket: lastTicket, transfer: transfer))
    }

    private func line(for origin: URLRecord.Origin) -> Line {
        if let line = lines[origin] { return line }
        let line = Line()
        lines[origin] = line
        return line
    }

    private func startWaiting(in line: Line) {
        while let next = line.queue.max {
            guard next.isTaken else {
                line.queue.removeMax()
                continue
            }
            guard line.running < limit(for: next.transfer) else { return }
            line.queue.removeMax()
            line.waiting -= 1
            line.running += 1
            _ = starts(next.transfer)
        }
    }

    private func limit(for transfer: Transfer) -> Int {
        let limit = max(1, transfer.shared.value.httpMaximumConnectionsPerHost)
        return multiplexing.contains(transfer.origin) ? max(limit, Self.maximumStreams) : limit
    }

    /// Starts a transfer if there are descriptors for it; else that is done later.
    func starts(_ transfer: Transfer) -> Bool {
        guard descriptors.admits(transfer) else { return false }
        transfer.stage = .running
        let now = MonotonicTime.now
        transfer.started = now
        transfer.lastActivity = now
        sweep.noteDeadline(transfer.nextDeadline())
        begin(transfer)
        return true
    }

    /// Gives it to libcurl.
    private func begin(_ transfer: Transfer) {
        do throws(LoadError) {
            try transfer.makeHandle()
            guard let easy = transfer.easy, curl_multi_add_handle(open(), easy) == CURLM_OK else {
                throw LoadError(.unknown, "The transfer could not be started.")
            }
            if transfer.speaksFTP { ftpPoller.add(transfer) }
        } catch {
            transfer.abort(error)
        }
    }

    /// Takes a transfer that is over, or has to end, off its handle and lets the next one start.
    func finish(_ transfer: Transfer, result: CURLcode) {
        loop.assertOnLoop()
        guard transfer.stage != .over else { return }
        let hadTurn = transfer.stage != .queued
        if let easy = transfer.easy, let multi { curl_multi_remove_handle(multi, easy) }
        if transfer.startAnew(after: result) { return begin(transfer) }
        if transfer.hasToWaitForDescriptors(result) {
            descriptors.left(transfer)
            return descriptors.wait(transfer, isRefused: true)
        }
        transfer.finished(result)
        sweep.remove(transfer)
        count -= 1
        lastUse = now
        descriptors.left(transfer)
        leave(transfer, hadTurn: hadTurn)
        transfer.wakeIfMet()
    }

    private func leave(_ transfer: Transfer, hadTurn: Bool) {
        let origin = transfer.origin
        guard let line = lines[origin] else { return }
        if hadTurn {
            line.running -= 1
            startWaiting(in: line)
        } else {
            line.waiting -= 1
        }
        if line.running == 0, line.waiting == 0 { lines[origin] = nil }
    }

    // MARK: Reports of transfers

    /// Remembers to look whether the transfer's task can go on, once libcurl has returned.
    func noteChange(of transfer: Transfer) { changed.append(transfer) }

    func noteMultiplexing(to origin: URLRecord.Origin) {
        if multiplexing.count >= 4096 { multiplexing.removeAll() }
        guard multiplexing.insert(origin).inserted else { return }
        loop.perform { [self] in
            if let line = lines[origin] { startWaiting(in: line) }
        }
    }

    /// Makes sure that libcurl reads the same host and port from the URL as we did (SEC-1).
    ///
    /// The text after the authority cannot change it, so one look per origin is enough.
    func confirm(_ text: String, of origin: URLRecord.Origin) throws(LoadError) {
        guard !confirmed.contains(origin) else { return }
        guard CurlURL.origin(of: text) == origin else {
            throw LoadError(.init(TargetRefusal.Code.urlInvalid), "The URL can be read in two ways.")
        }
        if confirmed.count >= 4096 { confirmed.removeAll() }
        confirmed.insert(origin)
    }

    // MARK: libcurl

    func descriptor(_ descriptor: Int32, isReady readiness: Readiness) {
        var mask: Int32 = 0
        if readiness.contains(.readable) { mask |= CURL_CSELECT_IN }
        if readiness.contains(.writable) { mask |= CURL_CSELECT_OUT }
        if readiness.contains(.failed) { mask |= CURL_CSELECT_ERR }
        drive(descriptor, mask)
    }

    private func timerFired() { drive(curl_socket_t(-1), 0) }

    private func drive(_ descriptor: curl_socket_t, _ mask: Int32) {
        var running: Int32 = 0
        if let multi { perform { curl_multi_socket_action(multi, descriptor, mask, &running) } }
    }

    private func driveAll() {
        var running: Int32 = 0
        if let multi { perform { ccurl_multi_drive_all(multi, &running) } }
    }

    /// Calls libcurl, then ends the transfers that it finished and wakes those that waited.
    func perform<Result>(_ call: () -> Result) {
        loop.assertOnLoop()
        now = .now
        isDriving = true
        _ = call()
        isDriving = false
        var left: Int32 = 0
        guard let multi else { return }
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            let result = ccurl_message_result(message)
            if let transfer = Self.transfer(on: easy) { finish(transfer, result: result) }
        }
        if !refused.isEmpty { dialOn() }
        guard !changed.isEmpty else { return }
        for transfer in changed { transfer.wakeIfMet() }
        changed.removeAll(keepingCapacity: true)
    }

    private static func transfer(on easy: CurlHandle) -> Transfer? {
        var context: UnsafeMutableRawPointer?
        ccurl_get_pointer(easy, CURLINFO_PRIVATE, &context)
        return context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Has libcurl dial the next address of those that were refused one, which it does by itself only when some timer of
    /// the transfer runs out (as of 7.88.1): after 200 ms for the second address, after seconds for the third.
    private func dialOn() {
        let transfers = refused
        refused.removeAll(keepingCapacity: true)
        for transfer in transfers where transfer.stage == .running { transfer.runNow() }
    }

    func watch(_ descriptor: curl_socket_t, _ what: Int32, for easy: CurlHandle?) {
        loop.assertOnLoop()
        switch what {
        case CURL_POLL_IN: loop.watch(descriptor, for: .readable, handler: self)
        case CURL_POLL_OUT: loop.watch(descriptor, for: .writable, handler: self)
        case CURL_POLL_INOUT: loop.watch(descriptor, for: [.readable, .writable], handler: self)
        default:
            loop.unwatch(descriptor)
            guard isDriving, let transfer = easy.flatMap(Self.transfer), transfer.requestCount == 0 else { return }
            refused.append(transfer)
        }
    }

    /// Does something once libcurl has returned.
    func later(_ action: @escaping @Sendable () -> Void) { loop.perform(action) }

    func setTimer(_ milliseconds: Int) { timer?.set(milliseconds) }
}
