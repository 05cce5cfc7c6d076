import EventLoop
import Synchronization

/// How far a task is, at the moment it was asked.
public struct TaskProgress: Sendable, Hashable {
    /// Bytes sent and received so far.
    public let completedUnitCount: Int64
    /// Bytes to be sent and received, as their lengths say, else as the program expects; `nil` while that is unknown.
    public let totalUnitCount: Int64?
    /// Bytes sent and received per second since the start; 0 before it.
    public let throughput: Double

    /// From 0.0 to 1.0; `nil` while the total is unknown.
    public var fractionCompleted: Double? {
        totalUnitCount.map { $0 == 0 ? 1 : min(1, Double(completedUnitCount) / Double($0)) }
    }

    /// How long the rest takes at the throughput so far; `nil` while that is unknown.
    public var estimatedTimeRemaining: Duration? {
        guard let totalUnitCount, throughput > 0 else { return nil }
        return .seconds(Double(max(0, totalUnitCount - completedUnitCount)) / throughput)
    }

    init(_ task: SessionTask) {
        completedUnitCount = task.countOfBytesSent + task.countOfBytesReceived
        let expectedToSend = task.countOfBytesExpectedToSend ?? task.countOfBytesClientExpectsToSend
        let expectedToReceive = task.countOfBytesExpectedToReceive ?? task.countOfBytesClientExpectsToReceive
        if let sent = expectedToSend, let received = expectedToReceive {
            totalUnitCount = sent + received
        } else {
            totalUnitCount = nil
        }
        let (start, earlier) = task.load.state.values.withLock { ($0.start, $0.earlier) }
        let end = task.load.record.withLock { $0.end } ?? .now
        // What went before was another load's, and so are the bytes.
        let seconds = start.map { Double(end.nanoseconds(since: $0)) / 1e9 - earlier / .seconds(1) } ?? 0
        // All bytes, where parts replace one another.
        let moved = task.countOfBytesSent + task.load.state.countOfBytesReceived.load(ordering: .relaxed)
        throughput = seconds > 0 ? Double(moved) / seconds : 0
    }
}
