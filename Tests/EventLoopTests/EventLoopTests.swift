import EventLoop
import Glibc
import Synchronization
import Testing

/// An actor that lives on a loop, as the owners of libcurl and libpq handles do.
private actor Resident {
    let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ loop: EventLoop) { self.loop = loop }

    func isOnLoop() -> Bool { loop.isOnLoop }

    /// How long a timer set for `duration` took, in nanoseconds.
    func elapsed(after duration: Duration) async -> Int64 {
        let start = MonotonicTime.now
        await withCheckedContinuation { continuation in
            loop.set(LoopTimer { continuation.resume() }, for: start.advanced(by: duration))
        }
        return MonotonicTime.now.nanoseconds(since: start)
    }

    /// Whether the loop turned while the actor called itself.
    func turnsWithin() async -> Bool {
        let hasFired = Mutex(false)
        loop.set(LoopTimer { hasFired.withLock { $0 = true } }, for: .now)
        for _ in 0..<5 { await stay() }
        await withCheckedContinuation { $0.resume() }
        return hasFired.withLock { $0 }
    }

    private func stay() async {}

    /// Holds up the loop, asleep or at work: a part of the time at least, however busy the machine is.
    func hold(_ duration: Duration, working: Bool) {
        let end = MonotonicTime.now.advanced(by: duration)
        let work = Self.worked() + duration / 4
        while MonotonicTime.now < end || working && Self.worked() < work { if !working { usleep(1000) } }
    }

    /// The processor time that the thread has had.
    private static func worked() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    func timersFiredInOrder() async -> [Int] {
        let order = Mutex<[Int]>([])
        let now = MonotonicTime.now
        let cleared = LoopTimer { order.withLock { $0.append(0) } }
        loop.set(cleared, for: now.advanced(by: .milliseconds(1)))
        loop.set(cleared, for: nil)
        loop.set(LoopTimer { order.withLock { $0.append(2) } }, for: now.advanced(by: .milliseconds(4)))
        loop.set(LoopTimer { order.withLock { $0.append(1) } }, for: now.advanced(by: .milliseconds(2)))
        _ = await elapsed(after: .milliseconds(6))
        return order.withLock { $0 }
    }

    func bytesThroughPipe(_ bytes: [UInt8]) async -> [UInt8] {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        defer { ends.forEach { close($0) } }
        let reader = Reader(loop: loop)
        return await withCheckedContinuation { continuation in
            reader.continuation = continuation
            loop.watch(ends[0], for: .readable, handler: reader)
            write(ends[1], bytes, bytes.count)
        }
    }
}

/// A task that gives a loop something to do in each of its turns.
private final class Load: Sendable {
    let goesOn = Atomic(true)
    let hasBegun = Atomic(false)

    func run(on loop: TaskLoop) async {
        await withTaskExecutorPreference(loop) {
            while goesOn.load(ordering: .relaxed) {
                hasBegun.store(true, ordering: .relaxed)
                await Task.yield()
            }
        }
    }
}

private final class Reader: DescriptorHandler {
    let loop: EventLoop
    var continuation: CheckedContinuation<[UInt8], Never>?

    init(loop: EventLoop) { self.loop = loop }

    func descriptor(_ descriptor: Int32, isReady readiness: Readiness) {
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &buffer, buffer.count)
        loop.unwatch(descriptor)
        continuation?.resume(returning: Array(buffer.prefix(count)))
    }
}

@Suite struct EventLoopTests {
    @Test func `long turns of every loop are told of, and how much of them was work`() async {
        let older = EventLoop(name: "older")
        let stalls = Mutex<[LoopStall]>([])
        EventLoop.observeStalls { stall in stalls.withLock { $0.append(stall) } }
        await Resident(older).hold(.milliseconds(10), working: true)
        _ = await Resident(older).elapsed(after: .milliseconds(1))
        older.stop()
        #expect(stalls.withLock { $0.contains { $0.loop == "older" && $0.elapsed >= .milliseconds(10) } })
        let loop = EventLoop(name: "stalls")
        let resident = Resident(loop)
        await resident.hold(.milliseconds(1), working: true)
        await resident.hold(.milliseconds(200), working: true)
        _ = await resident.elapsed(after: .milliseconds(1))
        await resident.hold(.milliseconds(200), working: false)
        _ = await resident.elapsed(after: .milliseconds(1))
        loop.stop()
        let long = stalls.withLock { $0.filter { $0.loop == "stalls" && $0.elapsed >= .milliseconds(200) } }
        // The machine may give the processor to others meanwhile: for some of these turns, and for others too.
        #expect(long.count >= 2)
        #expect(long.allSatisfy { $0.worked <= $0.elapsed })
        #expect(long.contains { $0.worked > .milliseconds(20) })
        #expect(long.last.map { $0.worked < .milliseconds(100) } == true)
    }

    @Test func `an actor on the loop runs on its thread, others do not`() async {
        let loop = EventLoop(name: "test")
        defer { loop.stop() }
        #expect(await Resident(loop).isOnLoop())
        #expect(!loop.isOnLoop)
    }

    @Test func `a task that prefers the loop runs there before and after it suspends`() async {
        let loop = TaskLoop(name: "test")
        defer { loop.stop() }
        let resident = Resident(loop)
        let places = await withTaskExecutorPreference(loop) {
            let before = loop.isOnLoop
            let inside = await resident.isOnLoop()
            await Task.yield()
            return [before, inside, loop.isOnLoop]
        }
        #expect(places == [true, true, true])
    }

    @Test func `an actor that calls itself stays where it is`() async {
        let plain = EventLoop(name: "test")
        defer { plain.stop() }
        #expect(await !Resident(plain).turnsWithin())

        let preferred = TaskLoop(name: "test")
        defer { preferred.stop() }
        #expect(await !withTaskExecutorPreference(preferred) { await Resident(preferred).turnsWithin() })
    }

    @Test func `a timer fires at its time and not before`() async {
        let loop = EventLoop(name: "test")
        defer { loop.stop() }
        #expect(await Resident(loop).elapsed(after: .milliseconds(5)) >= 5_000_000)
    }

    @Test func `timers fire in the order of their deadlines and a cleared one never`() async {
        let loop = EventLoop(name: "test")
        defer { loop.stop() }
        #expect(await Resident(loop).timersFiredInOrder() == [1, 2])
    }

    @Test func `who waits for the loop to catch up goes on when it has, or when the wait has been long enough`() async {
        let loop = TaskLoop(name: "test")
        defer { loop.stop() }
        let load = Load()
        async let turns: Void = load.run(on: loop)
        while !load.hasBegun.load(ordering: .relaxed) { await Task.yield() }
        let start = MonotonicTime.now
        await loop.catchUp(atMost: .milliseconds(20))
        #expect(MonotonicTime.now.nanoseconds(since: start) >= 20_000_000)
        async let wait: Void = loop.catchUp(atMost: .seconds(3600))
        load.goesOn.store(false, ordering: .relaxed)
        await turns
        await wait
    }

    @Test func `a watched descriptor tells its handler`() async {
        let loop = EventLoop(name: "test")
        defer { loop.stop() }
        #expect(await Resident(loop).bytesThroughPipe([1, 2, 3]) == [1, 2, 3])
    }

    @Test func `a hundred thousand hops from many tasks all arrive`() async {
        let loop = EventLoop(name: "test")
        defer { loop.stop() }
        let resident = Resident(loop)
        let count = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    var arrived = 0
                    for _ in 0..<1000 where await resident.isOnLoop() { arrived += 1 }
                    return arrived
                }
            }
            return await group.reduce(0, +)
        }
        #expect(count == 100_000)
    }
}
