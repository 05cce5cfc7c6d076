import EventLoop
import Synchronization

/// How fast tasks may be that share it, all of them together.
///
/// The bytes of bodies count as they travel, for each direction separately; they move in the order in which they were
/// asked for. It may be changed at any time, and running tasks obey the change within a second.
public final class Bandwidth: Sendable {
    enum Direction { case receiving, sending }

    private struct State: Sendable {
        var bytesPerSecond: Int64?
        var receiving: BandwidthMeter
        var sending: BandwidthMeter

        subscript(direction: Direction) -> BandwidthMeter {
            get { direction == .receiving ? receiving : sending }
            set { if direction == .receiving { receiving = newValue } else { sending = newValue } }
        }
    }

    private let state: Mutex<State>

    /// Makes one without a task.
    ///
    /// - Parameter bytesPerSecond: At least 1; `nil` for any number.
    public init(bytesPerSecond: Int64?) {
        let meter = BandwidthMeter(bytesPerSecond: bytesPerSecond, at: .now)
        state = Mutex(State(bytesPerSecond: bytesPerSecond, receiving: meter, sending: meter))
    }

    /// How many bytes a second may be received, and as many sent; `nil` for any number.
    public var bytesPerSecond: Int64? {
        get { state.withLock { $0.bytesPerSecond } }
        set {
            state.withLock { state in
                guard newValue != state.bytesPerSecond else { return }
                state.bytesPerSecond = newValue
                state.receiving.setRate(newValue, at: .now)
                state.sending.setRate(newValue, at: .now)
            }
        }
    }

    func take(_ count: Int, _ direction: Direction, at now: MonotonicTime) -> (place: Double, wait: Duration) {
        state.withLock { $0[direction].take(count, at: now) }
    }

    func wait(for place: Double, _ direction: Direction, at now: MonotonicTime) -> Duration {
        state.withLock { $0[direction].wait(for: place, at: now) }
    }
}
