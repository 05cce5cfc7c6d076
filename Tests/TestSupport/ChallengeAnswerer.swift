package import FetchEngine
import Synchronization

/// A delegate that answers challenges with a closure and remembers them.
package final class ChallengeAnswerer: SessionDelegate {
    private let answer: @Sendable (Challenge) -> Challenge.Disposition
    private let asked = Mutex<[Challenge]>([])

    package init(_ answer: @escaping @Sendable (Challenge) -> Challenge.Disposition) { self.answer = answer }

    /// The challenges so far, in their order.
    package var challenges: [Challenge] { asked.withLock { $0 } }

    package func session(_ session: Session, didReceive challenge: Challenge) async -> Challenge.Disposition {
        asked.withLock { $0.append(challenge) }
        return answer(challenge)
    }

    package func task(_ task: SessionTask, didReceive challenge: Challenge) async -> Challenge.Disposition {
        // Challenges of the session level were asked already.
        guard !challenge.protectionSpace.method.isSessionLevel else { return .performDefaultHandling }
        asked.withLock { $0.append(challenge) }
        return answer(challenge)
    }
}
