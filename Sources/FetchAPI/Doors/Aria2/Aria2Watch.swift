import FetchJobs
import FetchRuntime
import NIOCore
import NIOWebSocket
import Synchronization

/// Tells the sockets of each tenant what becomes of its downloads.
///
/// While a tenant has sockets here, its downloads that are not over are read twice a second, and so are those that ended
/// since. Who has no socket costs nothing, and who takes no news loses its socket and keeps nobody else from them.
final class Aria2Watch: Sendable {
    /// Of one tenant on this node.
    static let maximumSockets = 64
    static let interval = Duration.milliseconds(500)
    /// How often it is looked whether keys are still valid.
    private static let lifetimeOfKeys = Authenticator.lifetime
    /// How long somebody may stay who shows no key.
    private static let patience = Duration.seconds(60)
    /// How many downloads are followed of each tenant.
    private static let maximumDownloads = 1000
    /// Clocks of nodes, and transactions, may be apart by so much.
    private static let tolerance = Duration.seconds(15)

    private struct Socket {
        let inbox: WebSocketInbox
        var key: APIKey?
        let openedAt = ContinuousClock.now
        /// Since when it is told of downloads.
        var knownAt = Timestamp.now

        init(_ inbox: WebSocketInbox, _ key: APIKey?) {
            self.inbox = inbox
            self.key = key
        }
    }

    private struct State {
        var sockets: [ObjectIdentifier: Socket] = [:]
        var isClosed = false

        func count(of tenant: Tenant.ID) -> Int { sockets.values.count { $0.key?.tenant == tenant } }
    }

    private let jobs: any JobStore
    private let keys: any KeyStore
    private let state = Mutex(State())
    private let isNeeded = Condition()

    init(jobs: any JobStore, keys: any KeyStore) {
        self.jobs = jobs
        self.keys = keys
    }

    // MARK: Sockets

    /// Takes a socket in; false where its tenant has as many as it may, or the service stops.
    ///
    /// - Parameter key: Nil as long as it has shown none.
    func add(_ inbox: WebSocketInbox, _ key: APIKey?) -> Bool {
        let isTaken = state.withLock { state in
            if let key, state.count(of: key.tenant) >= Self.maximumSockets { return false }
            guard !state.isClosed else { return false }
            state.sockets[ObjectIdentifier(inbox)] = Socket(inbox, key)
            return true
        }
        isNeeded.signal()
        return isTaken
    }

    /// Tells a socket of the downloads that a key sees; false where its tenant has as many as it may.
    ///
    /// - Parameter time: When the call came that showed the key: what it has added is news already.
    func tell(_ inbox: WebSocketInbox, of key: APIKey, since time: Timestamp) -> Bool {
        state.withLock { state in
            guard state.count(of: key.tenant) < Self.maximumSockets else { return false }
            state.sockets[ObjectIdentifier(inbox)]?.key = key
            state.sockets[ObjectIdentifier(inbox)]?.knownAt = time
            return true
        }
    }

    func remove(_ inbox: WebSocketInbox) {
        state.withLock { _ = $0.sockets.removeValue(forKey: ObjectIdentifier(inbox)) }
    }

    /// Ends all sockets, and takes no more.
    func close() {
        let sockets = state.withLock { state in
            state.isClosed = true
            return Array(state.sockets.values)
        }
        for socket in sockets { socket.inbox.end(.goingAway) }
    }

    private var sockets: [Socket] { state.withLock { Array($0.sockets.values) } }

    // MARK: Looking

    func run() async {
        var known: [Tenant.ID: Known] = [:]
        var keysSeenAt = ContinuousClock.now
        while !Task.isCancelled {
            let sockets = sockets
            guard !sockets.isEmpty else {
                known = [:]
                await isNeeded.next()
                continue
            }
            let now = ContinuousClock.now
            for socket in sockets {
                socket.inbox.tick(now)
                if socket.inbox.isOver { remove(socket.inbox) }
                if socket.key == nil, now - socket.openedAt > Self.patience { socket.inbox.end(.policyViolation) }
            }
            if now - keysSeenAt >= Self.lifetimeOfKeys {
                keysSeenAt = now
                await checkKeys(of: sockets)
            }
            let byTenant = Dictionary(grouping: sockets.filter { $0.key != nil }) { $0.key?.tenant }
            for (tenant, sockets) in byTenant {
                guard let tenant else { continue }
                // The next look tries again.
                known[tenant] = (try? await look(at: tenant, known[tenant], for: sockets)) ?? known[tenant]
            }
            known = known.filter { byTenant[$0.key] != nil }
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// Ends the sockets of keys that are valid no more.
    private func checkKeys(of sockets: [Socket]) async {
        for (id, sockets) in Dictionary(grouping: sockets.filter { $0.key != nil }, by: { $0.key?.id }) {
            guard let id, let key = sockets.first?.key else { continue }
            do throws(StoreError) {
                let stored = key.subject == nil ? try await keys.key(id, of: key.tenant)?.key : key
                guard stored?.isValid(at: .now) != true else { continue }
                for socket in sockets { socket.inbox.end(.policyViolation) }
            } catch {
                // Nobody knows: the next look says.
            }
        }
    }

    // MARK: Downloads

    /// What is known of the downloads of a tenant.
    private struct Known {
        struct Phase {
            var isPaused = false
            /// Clients were told that it runs, and of no pause since.
            var isStarted = false
        }

        /// Those that are not over.
        var open: [Job.ID: Phase] = [:]
        /// Those that are over and not older than ``since``.
        var ended: Set<Job.ID> = []
        /// What was added before is not looked at again once it is over.
        var since: Job.ID
    }

    /// A word for what became of a download.
    enum Notice: String, CaseIterable {
        case start = "aria2.onDownloadStart"
        case pause = "aria2.onDownloadPause"
        case stop = "aria2.onDownloadStop"
        case complete = "aria2.onDownloadComplete"
        case error = "aria2.onDownloadError"

        /// - Parameter status: Of a download that is over.
        fileprivate init?(ending status: Aria2Download.Status) {
            switch status {
            case .complete: self = .complete
            case .error: self = .error
            case .removed: self = .stop
            case .active, .waiting, .paused: return nil
            }
        }

        func text(_ gid: String) -> ByteBuffer {
            let json = JSONWriter.object { writer in
                writer.member("jsonrpc", "2.0")
                writer.member("method", rawValue)
                writer.member("params", array: { $0.object { $0.member("gid", gid) } })
            }
            return ByteBuffer(frame: .text, json)
        }
    }

    /// What has happened to a download, as far as two looks tell.
    private enum Change {
        case start
        case pause
        /// It is in no list any more.
        case end(wasStarted: Bool)
    }

    private func look(at tenant: Tenant.ID, _ last: Known?, for sockets: [Socket]) async throws -> Known {
        let openStates = Aria2Download.activeStates.union(Aria2Download.waitingStates)
        let open = try await jobs.jobs(
            of: tenant, matching: Aria2Methods.filter(openStates), page: JobPage(limit: Self.maximumDownloads))
        let floor = Job.ID(earliestAt: Timestamp.now.advanced(by: .zero - Self.tolerance))
        // At the first look, what was there before somebody listened is no news.
        let beginning = Job.ID(earliestAt: sockets.map(\.knownAt).min() ?? .now)
        func isNews(_ id: Job.ID) -> Bool { last != nil || id > beginning }
        var known = Known(since: last?.since ?? floor)
        let ended = try await jobs.jobs(
            of: tenant, matching: Aria2Methods.filter(Aria2Download.stoppedStates),
            page: JobPage(limit: Self.maximumDownloads, at: .before(known.since)))
        known.ended = Set(ended.map(\.id))
        var notices: [(job: Job.ID, change: Change)] = []
        // One may have ended between the two.
        for job in open where !known.ended.contains(job.id) {
            var phase = last?.open[job.id] ?? Known.Phase(isStarted: !isNews(job.id))
            let wasPaused = phase.isPaused
            phase.isPaused = job.state == .suspended
            if Aria2Download.activeStates.contains(job.state), !phase.isStarted {
                phase.isStarted = true
                notices.append((job.id, .start))
            } else if phase.isPaused, !wasPaused, isNews(job.id) {
                phase.isStarted = false
                notices.append((job.id, .pause))
            }
            known.open[job.id] = phase
        }
        let gone = Set((last?.open ?? [:]).keys).subtracting(known.open.keys)
        for id in gone.union(known.ended.subtracting(last?.ended ?? [])) where isNews(id) {
            notices.append((id, .end(wasStarted: last?.open[id]?.isStarted ?? false)))
        }
        try await tell(notices, tenant, sockets)
        known.since = max(known.since, floor)
        known.ended = known.ended.filter { $0 > known.since }
        return known
    }

    private func tell(
        _ notices: [(job: Job.ID, change: Change)], _ tenant: Tenant.ID, _ sockets: [Socket]
    ) async throws {
        let ids = Array(Set(notices.map(\.job)))
        var found: [Job.ID: (job: Job, download: Aria2Download)] = [:]
        for start in stride(from: 0, to: ids.count, by: Aria2Methods.groupSize) {
            let group = Set(ids[start..<min(start + Aria2Methods.groupSize, ids.count)])
            for job in try await jobs.jobs([tenant: group]) {
                if let download = Aria2Download(job) { found[job.id] = (job, download) }
            }
        }
        for (id, change) in notices {
            guard let (job, download) = found[id] else { continue }
            let sockets = sockets.filter { $0.key?.seesDownloads(like: job) == true }
            for notice in Self.notices(of: change, download) {
                let text = notice.text(download.gid)
                for socket in sockets { socket.inbox.add(text) }
            }
        }
    }

    private static func notices(of change: Change, _ download: Aria2Download) -> [Notice] {
        switch change {
        case .start: [.start]
        case .pause: [.pause]
        case .end(let wasStarted):
            switch Notice(ending: download.status) {
            // It is not over: more were added than are followed.
            case nil: []
            case .stop?: [.stop]
            case let end?: wasStarted ? [end] : [.start, end]
            }
        }
    }
}

extension APIKey {
    fileprivate func seesDownloads(like job: Job) -> Bool { spec.scopes.contains(.readJobs) && spec.covers(job) }
}
