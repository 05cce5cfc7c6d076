import FetchEngine
import HTTPTypes
import Synchronization

/// A delegate that keeps the response, the body and the end of one task.
final class CollectingDelegate: SessionDelegate {
    private let state = Mutex((body: [UInt8](), response: Response?.none, isOver: false, error: LoadError?.none))

    var body: [UInt8] { state.withLock { $0.body } }
    var count: Int { state.withLock { $0.body.count } }
    var response: Response? { state.withLock { $0.response } }
    /// Whether the task has ended.
    var isOver: Bool { state.withLock { $0.isOver } }
    /// With what it has ended; nil when it is complete.
    var error: LoadError? { state.withLock { $0.error } }

    func task(_ task: SessionTask, didReceive response: Response) async -> ResponseDisposition {
        state.withLock { $0.response = response }
        return .allow
    }

    func task(_ task: SessionTask, didReceive data: [UInt8]) async { state.withLock { $0.body += data } }

    func task(_ task: SessionTask, didCompleteWith error: LoadError?) async {
        state.withLock { ($0.isOver, $0.error) = (true, error) }
    }
}
