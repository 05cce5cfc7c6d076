import FetchEngine
import FetchJobs
import TestSupport
import Testing

@testable import FetchRuntime

/// The switch that stops one job, or holds it.
@Suite struct StopSwitchTests {
    @Test func `the first reason counts`() {
        let stop = StopSwitch(tenant: .first)
        stop.stop(.expired)
        stop.stop(.leaseLost)
        guard case .expired = stop.reason else { return #expect(Bool(false), "\(String(describing: stop.reason))") }
    }

    @Test func `what was to be done when it is thrown is done once, and at once if it was thrown before`() {
        let stop = StopSwitch(tenant: .first)
        let count = Progress()
        stop.whenThrown { count.add(1) }
        stop.stop(.drained)
        stop.stop(.drained)
        #expect(count.value == 1)
        stop.whenThrown { count.add(1) }
        #expect(count.value == 2)
    }

    @Test func `a job that is held is given back, unless it has sent what must not be repeated`() {
        let stops = (0..<3).map { _ in StopSwitch(tenant: .first) }
        #expect(stops[0].begin())
        for stop in stops.prefix(2) { stop.suspend() }
        for stop in stops { stop.giveBack() }
        #expect(stops.map { $0.reason != nil } == [false, true, false])
        #expect(!stops[1].begin())
    }

    @Test func `who waits for it is let go when it is thrown`() async {
        let stop = StopSwitch(tenant: .first)
        async let waits: Void = stop.isThrown()
        stop.stop(.cancelled(.plainly))
        await waits
        // Thrown before, it does not wait.
        await stop.isThrown()
    }

    @Test func `who waits for it is let go when its task is cancelled`() async {
        let stop = StopSwitch(tenant: .first)
        await withTaskGroup { group in
            group.addTask { await stop.isThrown() }
            group.cancelAll()
        }
        #expect(stop.reason == nil)
    }

    @Test func `a pause is cut short when it is thrown`() async {
        let stop = StopSwitch(tenant: .first)
        async let pause: Void = stop.pause(for: .seconds(600))
        stop.stop(.cancelled(.plainly))
        await pause
    }

    @Test func `a load that it ended because of the time has timed out, and was not cancelled`() {
        let cancelled = LoadError(.cancelled, "cancelled")
        let stop = StopSwitch(tenant: .first)
        #expect(stop.judged(cancelled).code == .cancelled)
        stop.stop(.expired)
        #expect(stop.judged(cancelled).code == .timedOut)
        #expect(stop.judged(LoadError(.cannotFindHost, "no host")).code == .cannotFindHost)
    }

    @Test func `it is held and let go as often as is said`() {
        let stop = StopSwitch(tenant: .first)
        stop.suspend()
        stop.suspend()
        #expect(stop.isSuspended)
        stop.resume()
        #expect(!stop.isSuspended)
    }
}
