import CCurl
package import EventLoop

/// The actor that owns libcurl's handles.
///
/// It lives on an event loop, so to call it is to hop to that thread.
public actor TransferLoop {
    /// The loop that sessions use when they are given none.
    public static let shared = TransferLoop()

    package nonisolated let eventLoop: TaskLoop
    private let budget: DescriptorBudget
    private var line: DescriptorLine?
    private var partitions: [Partition.Key: Partition] = [:]
    /// The one used last: mostly it is the one used next.
    private var recent: Partition?
    private var sweep: DeadlineSweep?
    /// The results of lookups for loads under a target policy.
    var hostAddresses = HostAddresses()
    private var idleTimer: LoopTimer?
    /// Connections that no transfer used for this long are closed with their partition.
    private static let partitionLifetime: Duration = .seconds(90)

    /// The loop's thread runs this actor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { eventLoop.asUnownedSerialExecutor() }

    /// Makes a loop with a thread of its own.
    ///
    /// A loop keeps about one processor busy with small loads. More of them serve sessions that are to share the work
    /// of several; connections and their limits belong to a session on its loop.
    ///
    /// - Parameter name: The name of the thread; the system keeps the first 15 bytes.
    public init(named name: String = "transfers") { self.init(TaskLoop(name: name)) }

    /// Makes an actor on a loop.
    ///
    /// - Parameter descriptors: How many its transfers may use.
    package init(_ eventLoop: TaskLoop, descriptors: DescriptorBudget = DescriptorBudget()) {
        _ = Self.libcurl
        self.eventLoop = eventLoop
        budget = descriptors
    }

    private static let libcurl: Void = {
        let result = curl_global_init(Int(CURL_GLOBAL_ALL))
        precondition(result == CURLE_OK, "libcurl could not be started")
        ccurl_watch_streams(noteStream)
    }()

    /// Runs an operation on the loop's thread.
    ///
    /// A load that is awaited from elsewhere costs two turns between threads; one that is awaited here costs none. The
    /// operation holds up the loop's transfers: it has to be short between its `await`s.
    public func run<Result: Sendable>(
        _ operation: @Sendable (isolated TransferLoop) async -> sending Result
    ) async -> sending Result {
        await withTaskExecutorPreference(eventLoop) { await operation(self) }
    }

    /// Waits until the loop has caught up with its loads, or for this long at most: who can leave loads undone begins more
    /// of them then.
    package nonisolated func catchUp(atMost longest: Duration) async { await eventLoop.catchUp(atMost: longest) }

    func partition(for key: Partition.Key) -> Partition {
        if let recent, recent.key == key { return recent }
        let partition =
            partitions[key]
            ?? Partition(key: key, loop: eventLoop, sweep: commonSweep(), descriptors: commonLine())
        partitions[key] = partition
        recent = partition
        watchIdle()
        return partition
    }

    private func commonLine() -> DescriptorLine {
        if let line { return line }
        let line = DescriptorLine(budget, loop: eventLoop) { [weak self] in
            self?.assumeIsolated { $0.closeOldest() } ?? false
        }
        self.line = line
        return line
    }

    private func commonSweep() -> DeadlineSweep {
        if let sweep { return sweep }
        let sweep = DeadlineSweep(loop: eventLoop)
        self.sweep = sweep
        return sweep
    }

    /// Looks after idle partitions from time to time, as long as there are any.
    private func watchIdle() {
        guard idleTimer == nil else { return }
        let timer = LoopTimer { [weak self] in self?.assumeIsolated { $0.closeUnused() } }
        idleTimer = timer
        eventLoop.set(timer, for: MonotonicTime.now.advanced(by: Self.partitionLifetime / 3))
    }

    /// Closes the connections of unused partitions.
    private func closeUnused() {
        let limit = MonotonicTime.now
        recent = nil
        partitions = partitions.filter {
            $1.count > 0 || $1.lastUse.advanced(by: Self.partitionLifetime) > limit
        }
        idleTimer = nil
        if !partitions.isEmpty { watchIdle() }
    }

    /// Closes the connections of some partitions that have been idle for the longest time; false when none is idle.
    private func closeOldest() -> Bool {
        let idle = partitions.values.filter { $0.count == 0 }.sorted { $0.lastUse < $1.lastUse }
        guard !idle.isEmpty else { return false }
        recent = nil
        for partition in idle.prefix(max(1, idle.count / 4)) { partitions[partition.key] = nil }
        return true
    }

    /// Closes the connections of a session that is over.
    func close(session: UInt64) {
        recent = nil
        partitions = partitions.filter { $0.key.session != session || $0.value.count > 0 }
    }
}
