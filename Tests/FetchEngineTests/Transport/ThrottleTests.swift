import EventLoop
import Testing

@testable import FetchEngine

/// R17: a transfer that waits for its share.
@Suite struct ThrottleTests {
    private static let piece = 16_384

    private let start = MonotonicTime.now
    private let slow = Bandwidth(bytesPerSecond: 16_384)
    private let fast = Bandwidth(bytesPerSecond: 1 << 30)

    private func after(_ seconds: Int) -> MonotonicTime { start.advanced(by: .seconds(seconds)) }

    @Test func `bytes move when all that they share lets them, and are not asked for twice`() {
        var throttle = Throttle(.receiving)
        #expect(throttle.admit(Self.piece, in: [fast, slow], at: start) == true)
        #expect(throttle.admit(Self.piece, in: [fast, slow], at: start) == false)
        // The limits may change, so it looks sooner than its place comes.
        #expect(throttle.lookAt == after(1))
        #expect(!throttle.isDue(at: start) && throttle.isDue(at: after(1)))
        #expect(throttle.look(at: after(1)) == false)
        #expect(throttle.admit(Self.piece, in: [fast, slow], at: after(1)) == false)
        #expect(throttle.look(at: after(3)) == true)
        #expect(throttle.lookAt == nil)
        #expect(throttle.admit(Self.piece, in: [fast, slow], at: after(3)) == true)
    }

    @Test func `what was let through and did not move is kept for the next time`() {
        var throttle = Throttle(.sending)
        #expect(throttle.admit(Self.piece, in: [slow], at: start) == true)
        throttle.keep(Self.piece - 1)
        #expect(throttle.admit(Self.piece - 1, in: [slow], at: start) == true)
        #expect(throttle.admit(1, in: [slow], at: start) == false)
        // The other direction has as much again.
        var other = Throttle(.receiving)
        #expect(other.admit(Self.piece, in: [slow], at: start) == true)
    }

    @Test func `a limit that is lifted ends the wait`() {
        var throttle = Throttle(.receiving)
        #expect(throttle.admit(Self.piece, in: [slow], at: start) == true)
        #expect(throttle.admit(Self.piece, in: [slow], at: start) == false)
        slow.bytesPerSecond = nil
        #expect(throttle.look(at: after(1)) == true)
        #expect(throttle.admit(Self.piece, in: [], at: after(1)) == true)
    }
}
