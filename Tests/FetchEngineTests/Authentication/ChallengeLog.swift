import FetchEngine
import HTTPTypes
import Synchronization

/// A delegate that answers challenges by a rule, and remembers all it was told.
final class ChallengeLog: SessionDelegate {
    typealias Rule = @Sendable (Challenge) -> Challenge.Disposition

    private let atSessionLevel: Rule?
    private let atTaskLevel: Rule?
    private let stream: (@Sendable () async -> BodyPipe?)?
    private let unwanted: Set<ProtectionSpace.Method>
    private let record = Mutex<(challenges: [Challenge], events: [String])>(([], []))

    init(
        session: Rule? = nil, task: Rule? = nil, stream: (@Sendable () async -> BodyPipe?)? = nil,
        unwanted: Set<ProtectionSpace.Method> = []
    ) {
        self.unwanted = unwanted
        atSessionLevel = session
        atTaskLevel = task
        self.stream = stream
    }

    /// Answers each challenge with the next of some credentials, then cancels.
    convenience init(using first: Credential, _ others: Credential...) {
        let credentials = [first] + others
        self.init(task: { challenge in
            let count = challenge.previousFailureCount
            return count < credentials.count ? .useCredential(credentials[count]) : .cancelAuthenticationChallenge
        })
    }

    var challenges: [Challenge] { record.withLock { $0.challenges } }
    var events: [String] { record.withLock { $0.events } }

    private func note(_ event: String, _ challenge: Challenge? = nil) {
        record.withLock { record in
            record.events.append(event)
            if let challenge { record.challenges.append(challenge) }
        }
    }

    func session(_ session: Session, didReceive challenge: Challenge) async -> Challenge.Disposition {
        guard let atSessionLevel else { return .performDefaultHandling }
        note("session \(challenge.protectionSpace.method)", challenge)
        return atSessionLevel(challenge)
    }

    func task(_ task: SessionTask, didReceive challenge: Challenge) async -> Challenge.Disposition {
        guard let atTaskLevel else { return .performDefaultHandling }
        note("task \(challenge.protectionSpace.method)", challenge)
        return atTaskLevel(challenge)
    }

    func task(_ task: SessionTask, canAuthenticateAgainst space: ProtectionSpace) async -> Bool {
        !unwanted.contains(space.method)
    }

    func taskNeedsNewBodyStream(_ task: SessionTask) async -> BodyPipe? {
        guard let stream else { return nil }
        note("stream")
        return await stream()
    }

    func task(
        _ task: SessionTask, willPerformHTTPRedirection response: Response?, newRequest: Request
    ) async -> RedirectDisposition {
        note("redirect")
        return .performDefaultHandling
    }

    func task(_ task: SessionTask, didReceive response: Response) async -> ResponseDisposition {
        note("response \(response.status.code)")
        return .allow
    }

    func task(_ task: SessionTask, didCompleteWith error: LoadError?) async {
        note("completed" + (error.map { " \($0.code)" } ?? ""))
    }
}
