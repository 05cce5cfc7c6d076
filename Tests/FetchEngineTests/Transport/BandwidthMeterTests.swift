import EventLoop
import Testing

@testable import FetchEngine

/// R17: when bytes may move.
@Suite struct BandwidthMeterTests {
    private static let start = MonotonicTime(nanoseconds: 1_000_000_000)

    private static func after(_ milliseconds: Int64) -> MonotonicTime {
        start.advanced(by: .milliseconds(milliseconds))
    }

    private static func milliseconds(_ wait: Duration) -> Int64 { (wait / .milliseconds(1)).rounded().asInteger }

    @Test func `so much may move at once, and what comes then waits until time has paid for all of it`() {
        var meter = BandwidthMeter(bytesPerSecond: 100_000, at: Self.start)
        #expect(meter.take(16_384, at: Self.start).wait == .zero)
        let second = meter.take(16_384, at: Self.start)
        #expect(Self.milliseconds(second.wait) == 328)
        #expect(Self.milliseconds(meter.wait(for: second.place, at: Self.after(200))) == 128)
        #expect(meter.wait(for: second.place, at: Self.after(328)) == .zero)
        #expect(meter.take(16_384, at: Self.after(328)).wait == .zero)
    }

    @Test func `those who wait move in the order in which they asked`() {
        var meter = BandwidthMeter(bytesPerSecond: 16_384, at: Self.start)
        let waits = (0..<4).map { _ in Self.milliseconds(meter.take(16_384, at: Self.start).wait) }
        #expect(waits == [0, 2000, 3000, 4000])
    }

    @Test func `time in which nobody moves anything is not saved up`() {
        var meter = BandwidthMeter(bytesPerSecond: 16_384, at: Self.start)
        #expect(meter.take(16_384, at: Self.after(60_000)).wait == .zero)
        #expect(Self.milliseconds(meter.take(16_384, at: Self.after(60_000)).wait) == 2000)
    }

    @Test func `a change of the rate is felt by those who wait`() {
        var meter = BandwidthMeter(bytesPerSecond: 16_384, at: Self.start)
        _ = meter.take(16_384, at: Self.start)
        let (place, wait) = meter.take(16_384, at: Self.start)
        #expect(Self.milliseconds(wait) == 2000)
        meter.setRate(4096, at: Self.after(1000))
        #expect(Self.milliseconds(meter.wait(for: place, at: Self.after(1000))) == 4000)
        meter.setRate(nil, at: Self.after(2000))
        #expect(meter.wait(for: place, at: Self.after(2000)) == .zero)
        #expect(meter.take(1 << 40, at: Self.after(2000)).wait == .zero)
    }

    @Test func `a clock that stands back pays for nothing twice`() {
        var meter = BandwidthMeter(bytesPerSecond: 16_384, at: Self.after(1000))
        _ = meter.take(16_384, at: Self.after(1000))
        let place = meter.take(16_384, at: Self.after(1000)).place
        #expect(Self.milliseconds(meter.wait(for: place, at: Self.start)) == 2000)
        #expect(Self.milliseconds(meter.wait(for: place, at: Self.after(2000))) == 1000)
    }
}

extension Double {
    fileprivate var asInteger: Int64 { Int64(self) }
}
