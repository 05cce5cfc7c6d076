import CEpoll
import Glibc
import HeapModule
import Synchronization

/// One thread that waits on epoll and runs Swift jobs between two waits.
///
/// It is the executor of the actors that own libcurl and libpq handles, so calling into such an actor is a hop to
/// this thread, and C callbacks that arrive on it are already isolated to the actor.
///
/// Jobs must not block; everything else on the loop waits while they do.
// @unchecked: `turn` is touched by the loop's thread alone; the state that other threads reach is behind `inbox`.
package class EventLoop: SerialExecutor, @unchecked Sendable {
    /// The work that other threads leave for the loop.
    private struct Inbox {
        var jobs: [UnownedJob] = []
        var actions: [@Sendable () -> Void] = []
        var isEmpty: Bool { jobs.isEmpty && actions.isEmpty }
        /// The loop waits in epoll, or is about to; new work must wake it.
        var isAsleep = false
        var isStopping = false
    }

    private struct Registration {
        let generation: UInt32
        let handler: any DescriptorHandler
    }

    private struct TimerEntry: Comparable {
        let deadline: MonotonicTime
        let ticket: UInt64
        let timer: LoopTimer

        static func < (left: TimerEntry, right: TimerEntry) -> Bool {
            (left.deadline, left.ticket) < (right.deadline, right.ticket)
        }

        static func == (left: TimerEntry, right: TimerEntry) -> Bool { left.ticket == right.ticket }
    }

    /// The state that the loop's thread alone touches.
    private struct Turn {
        var jobs: [UnownedJob] = []
        /// The room of jobs that have run.
        var spareJobs: [UnownedJob] = []
        /// The room of actions that have run.
        var spareActions: [@Sendable () -> Void] = []
        var registrations: [Registration?] = []
        var generation: UInt32 = 0
        var timers = Heap<TimerEntry>()
        var ticket: UInt64 = 0
        var clock = TurnClock()
        /// Those that wait until the loop has caught up.
        var waiters: [Waiter] = []
    }

    private struct Waiter {
        let deadline: MonotonicTime
        let continuation: CheckedContinuation<Void, Never>
    }

    /// The name its thread shows in `top -H` and in a debugger.
    package final let name: String

    private let epoll: Int32
    private let doorbell: Int32
    private let inbox = Mutex(Inbox())
    private var turn = Turn()
    /// Gets the long turns of every loop of the process.
    private static let stallObserver = Mutex<(@Sendable (LoopStall) -> Void)?>(nil)
    private let thread = Mutex<pthread_t?>(nil)
    /// The thread's id, for the check made at each enqueue; 0 until the thread runs.
    private let threadID = Atomic<UInt>(0)

    /// Starts the loop's thread.
    ///
    /// - Parameter name: The thread's name; Linux shows its first 15 bytes.
    package init(name: String) {
        self.name = name
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        doorbell = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        precondition(epoll >= 0 && doorbell >= 0, "no descriptor is left for an event loop")
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data(u64: UInt64(UInt32.max)))
        epoll_ctl(epoll, EPOLL_CTL_ADD, doorbell, &event)
        startThread()
    }

    deinit {
        close(doorbell)
        close(epoll)
    }

    private func startThread() {
        var created = pthread_t()
        let context = Unmanaged.passRetained(self).toOpaque()
        let status = pthread_create(
            &created, nil,
            { context in
                let loop = Unmanaged<EventLoop>.fromOpaque(context!).takeRetainedValue()
                pthread_setname_np(pthread_self(), String(loop.name.prefix(15)))
                loop.threadID.store(UInt(pthread_self()), ordering: .relaxed)
                loop.run()
                return nil
            }, context)
        precondition(status == 0, "no thread is left for an event loop")
        thread.withLock { $0 = created }
    }

    /// Stops the loop once the jobs it holds have run, and waits for its thread.
    ///
    /// Nothing may be enqueued afterwards. Called from the loop itself, it returns without waiting.
    package final func stop() {
        inbox.withLock { $0.isStopping = true }
        ring()
        guard !isOnLoop else { return }
        if let joinable = thread.withLock({ $0.take() }) { pthread_join(joinable, nil) }
    }

    /// Tells of every turn of 5 ms and more, of whichever loop of the process and on its thread.
    ///
    /// A process has one observer: the last one that was set.
    package static func observeStalls(_ observer: @escaping @Sendable (LoopStall) -> Void) {
        stallObserver.withLock { $0 = observer }
    }

    // MARK: Executor

    /// Whether the caller runs on this loop's thread.
    package final var isOnLoop: Bool {
        threadID.load(ordering: .relaxed) == UInt(pthread_self())
    }

    /// Traps in debug builds when the caller is not on this loop's thread.
    ///
    /// For classes whose state belongs to the thread.
    package final func assertOnLoop() { assert(isOnLoop, "\(name): state of the loop was used on another thread") }

    package final func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        guard !isOnLoop else {
            turn.jobs.append(job)
            return
        }
        let wasAsleep = inbox.withLock { inbox in
            inbox.jobs.append(job)
            defer { inbox.isAsleep = false }
            return inbox.isAsleep
        }
        if wasAsleep { ring() }
    }

    /// Runs an action on the loop, from any thread and without waiting for it.
    ///
    /// For callers that cannot suspend, such as a cancellation handler. Actions run in order, but apart from jobs.
    package final func perform(_ action: @escaping @Sendable () -> Void) {
        let wasAsleep = inbox.withLock { inbox in
            inbox.actions.append(action)
            defer { inbox.isAsleep = false }
            return inbox.isAsleep
        }
        if wasAsleep { ring() }
    }

    package final func checkIsolated() {
        precondition(isOnLoop, "\(name): called from another thread")
    }

    package final func isIsolatingCurrentContext() -> Bool? { isOnLoop }

    package final func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    // MARK: Descriptors

    /// Watches a descriptor, or changes the events it is watched for; the loop keeps the handler until `unwatch`.
    ///
    /// On the loop only. Readiness is level-triggered.
    package final func watch(_ descriptor: Int32, for interest: Readiness, handler: any DescriptorHandler) {
        checkIsolated()
        let slot = Int(descriptor)
        if slot >= turn.registrations.count {
            turn.registrations.append(contentsOf: repeatElement(nil, count: slot + 1 - turn.registrations.count))
        }
        let isKnown = turn.registrations[slot] != nil
        turn.generation &+= 1
        turn.registrations[slot] = Registration(generation: turn.generation, handler: handler)
        var event = epoll_event(
            events: interest.epollEvents,
            data: epoll_data(u64: UInt64(turn.generation) << 32 | UInt64(UInt32(descriptor)))
        )
        // A library may have closed the descriptor and been given the same number again: then the kernel has
        // forgotten it, or still knows it, against our record.
        if epoll_ctl(epoll, isKnown ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event) != 0 {
            epoll_ctl(epoll, isKnown ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event)
        }
    }

    /// Stops watching a descriptor, on the loop only; harmless when it was not watched.
    package final func unwatch(_ descriptor: Int32) {
        checkIsolated()
        let slot = Int(descriptor)
        guard slot < turn.registrations.count, turn.registrations[slot] != nil else { return }
        turn.registrations[slot] = nil
        var unused = epoll_event()
        epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &unused)
    }

    // MARK: Timers

    /// Sets, moves or, with no deadline, clears a timer; on the loop only.
    package final func set(_ timer: LoopTimer, for deadline: MonotonicTime?) {
        checkIsolated()
        turn.ticket += 1
        timer.ticket = deadline == nil ? 0 : turn.ticket
        if let deadline {
            turn.timers.insert(TimerEntry(deadline: deadline, ticket: turn.ticket, timer: timer))
        }
    }

    // MARK: Load

    /// Waits until the loop has caught up: no job waits, and no more descriptors are ready than it looks at in one turn.
    ///
    /// Who makes work for the loop, and can leave it undone as well, waits for this.
    ///
    /// - Parameter longest: The longest wait, for a loop that others keep busy.
    package final func catchUp(atMost longest: Duration) async {
        await withCheckedContinuation { continuation in
            let waiter = Waiter(deadline: .now.advanced(by: longest), continuation: continuation)
            perform { [self] in turn.waiters.append(waiter) }
        }
    }

    private func releaseWaiters(hasCaughtUp: Bool) {
        guard !turn.waiters.isEmpty else { return }
        let now = MonotonicTime.now
        turn.waiters.removeAll { waiter in
            let isOver = hasCaughtUp || waiter.deadline <= now
            if isOver { waiter.continuation.resume() }
            return isOver
        }
    }

    // MARK: The thread

    private func run() {
        // Few at a time: the work that an event starts runs after them, while its memory is still near.
        let capacity = 16
        let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: capacity)
        defer { events.deallocate() }
        turn.clock.begin()
        while runJobs() {
            let milliseconds = timeout()
            if let stall = turn.clock.end(of: name) { Self.stallObserver.withLock(\.self)?(stall) }
            let count = epoll_wait(epoll, events, Int32(capacity), milliseconds)
            turn.clock.begin()
            inbox.withLock { $0.isAsleep = false }
            for index in 0..<max(0, Int(count)) {
                deliver(events[index])
                // At once: the memory that the event has touched is in the processor's caches now.
                runOwnJobs()
            }
            fireTimers()
            releaseWaiters(hasCaughtUp: count < capacity && turn.jobs.isEmpty)
        }
        releaseWaiters(hasCaughtUp: true)
    }

    /// Runs the gathered work; jobs that it enqueues run after the next look at epoll, so that neither starves.
    ///
    /// - Returns: false when the loop is to stop and holds no job any more.
    private func runJobs() -> Bool {
        var actions: [@Sendable () -> Void] = []
        swap(&actions, &turn.spareActions)
        let isStopping = inbox.withLock { inbox in
            swap(&actions, &inbox.actions)
            turn.jobs.append(contentsOf: inbox.jobs)
            inbox.jobs.removeAll(keepingCapacity: true)
            return inbox.isStopping
        }
        let isIdle = actions.isEmpty && turn.jobs.isEmpty
        for action in actions { action() }
        actions.removeAll(keepingCapacity: true)
        turn.spareActions = actions
        runOwnJobs()
        return !(isStopping && isIdle && turn.jobs.isEmpty)
    }

    /// Runs the jobs that the loop's thread has; those that they enqueue are left for the next time.
    private func runOwnJobs() {
        guard !turn.jobs.isEmpty else { return }
        var jobs: [UnownedJob] = []
        swap(&jobs, &turn.spareJobs)
        swap(&jobs, &turn.jobs)
        for job in jobs { run(job) }
        jobs.removeAll(keepingCapacity: true)
        turn.spareJobs = jobs
    }

    /// Runs a job as one of an actor on this loop.
    func run(_ job: UnownedJob) { job.runSynchronously(on: asUnownedSerialExecutor()) }

    /// How long epoll may wait, in milliseconds; -1 without end.
    ///
    /// Marks the loop asleep when it may wait at all.
    private func timeout() -> Int32 {
        guard turn.jobs.isEmpty, turn.waiters.isEmpty else { return 0 }
        let mayWait = inbox.withLock { inbox in
            inbox.isAsleep = inbox.isEmpty && !inbox.isStopping
            return inbox.isAsleep
        }
        guard mayWait else { return 0 }
        dropClearedTimers()
        guard let next = turn.timers.min else { return -1 }
        let nanoseconds = next.deadline.nanoseconds(since: .now)
        return nanoseconds <= 0 ? 0 : Int32(min(nanoseconds / 1_000_000 + 1, Int64(Int32.max)))
    }

    private func deliver(_ event: epoll_event) {
        let tag = event.data.u64
        guard tag != UInt64(UInt32.max) else {
            var count: eventfd_t = 0
            eventfd_read(doorbell, &count)
            return
        }
        let descriptor = Int32(truncatingIfNeeded: tag)
        // An event of this same batch may have unwatched the descriptor, or given its number to another.
        guard let registration = turn.registrations[Int(descriptor)],
            registration.generation == UInt32(truncatingIfNeeded: tag >> 32)
        else { return }
        registration.handler.descriptor(descriptor, isReady: Readiness(epollEvents: event.events))
    }

    private func fireTimers() {
        dropClearedTimers()
        guard let first = turn.timers.min else { return }
        let now = MonotonicTime.now
        guard first.deadline <= now else { return }
        while let entry = turn.timers.min, entry.deadline <= now {
            turn.timers.removeMin()
            guard entry.timer.ticket == entry.ticket else { continue }
            entry.timer.ticket = 0
            entry.timer.action()
        }
    }

    private func dropClearedTimers() {
        while let entry = turn.timers.min, entry.timer.ticket != entry.ticket { turn.timers.removeMin() }
    }

    private func ring() {
        eventfd_write(doorbell, 1)
    }
}
