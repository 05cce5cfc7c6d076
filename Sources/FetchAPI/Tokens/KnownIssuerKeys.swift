import FetchJobs
import FetchRuntime
import Logging
import ServiceLifecycle
import Synchronization

/// The keys of the issuer as they were read last: a source that is away takes nothing away.
///
/// They are read at the start, then in intervals, and earlier for a token that names a key which is not known: once a
/// minute at most, or in what its maker sets, however many such tokens come.
final class KnownIssuerKeys: Service {
    /// When keys that could not be read are tried again, though nobody wants them.
    private static let retryInterval = Duration.seconds(60)
    /// How long a request waits for keys that are just being read.
    private static let patience = Duration.seconds(5)

    private struct State {
        var keys: IssuerKeys?
        /// When a token last had them read.
        var wantedAt: ContinuousClock.Instant?
        /// They are to be read, or are being read.
        var isWanted = true
        /// The requests that wait for the end of a reading.
        var waiting: [Condition] = []
    }

    private let load: @Sendable () async throws -> [UInt8]
    private let interval: Duration
    private let shortestInterval: Duration
    private let logger: Logger
    private let clock = ContinuousClock()
    private let state = Mutex(State())
    private let wanted = Condition()

    /// - Parameters:
    ///   - shortest: The least time between two readings that tokens have wanted.
    ///   - load: Reads the text of the set.
    init(
        interval: Duration, shortest: Duration = .seconds(60), logger: Logger,
        load: @escaping @Sendable () async throws -> [UInt8]
    ) {
        self.interval = interval
        shortestInterval = shortest
        self.logger = logger
        self.load = load
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled, !Task.isShuttingDownGracefully {
                let pause = await self.refresh() ? self.interval : Self.retryInterval
                await self.wanted.wait(until: .now + pause, for: nil) { self.state.withLock { $0.isWanted } }
            }
        }
    }

    /// The keys for a token: read anew when it names one that is not known, if that is due.
    ///
    /// - Parameter client: The connection of the client that waits; nil where there is no network.
    func keys(for token: SignedToken, from client: Connection?) async -> IssuerKeys? {
        await keys(from: client) { $0.has(token.keyName) }
    }

    /// The keys that are known: read anew when there are none, if that is due.
    ///
    /// - Parameter client: The connection of the client that waits; nil where there is no network.
    func keys(from client: Connection?) async -> IssuerKeys? { await keys(from: client) { _ in true } }

    private func keys(from client: Connection?, that suffice: (IssuerKeys) -> Bool) async -> IssuerKeys? {
        let done = Condition()
        let (known, waits) = state.withLock { state -> (IssuerKeys?, Bool) in
            if let keys = state.keys, suffice(keys) { return (keys, false) }
            if !state.isWanted {
                let now = clock.now
                guard state.wantedAt.map({ now - $0 >= shortestInterval }) ?? true else {
                    return (state.keys, false)
                }
                (state.isWanted, state.wantedAt) = (true, now)
            }
            state.waiting.append(done)
            return (state.keys, true)
        }
        guard waits else { return known }
        wanted.signal()
        await done.wait(until: .now + Self.patience, for: client) { state.withLock { !$0.isWanted } }
        return state.withLock { state in
            state.waiting.removeAll { $0 === done }
            return state.keys
        }
    }

    /// Reads the keys.
    ///
    /// - Returns: Whether there are new ones; else those from before stay.
    func refresh() async -> Bool {
        let result: Result<IssuerKeys, any Error>
        do { result = .success(try await IssuerKeys(try await load())) } catch { result = .failure(error) }
        let waiting = state.withLock { state in
            if case .success(let keys) = result { state.keys = keys }
            state.isWanted = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for condition in waiting { condition.signal() }
        switch result {
        case .success(let keys):
            for fault in keys.faults {
                logger.warning("a key of the issuer of tokens is not used", metadata: ["token.fault": "\(fault)"])
            }
            return true
        case .failure(let error):
            logger.warning("the keys of the issuer of tokens were not read", metadata: ["error": "\(error)"])
            return false
        }
    }
}
