package import FetchEngine
package import HTTPTypes
import Synchronization

/// A delegate that writes down its notifications and questions, and gives the answers that it was made with.
package final class DelegateLog: SessionDelegate {
    /// The answers that it gives; each takes the log's place in a question.
    package struct Answers: Sendable {
        package var redirect: @Sendable (Response?, Request) async -> RedirectDisposition = { _, _ in
            .performDefaultHandling
        }
        package var space: @Sendable (ProtectionSpace) async -> Bool = { _ in true }
        package var challenge: @Sendable (Challenge) async -> Challenge.Disposition = { _ in .performDefaultHandling }
        package var response: @Sendable (Response) async -> ResponseDisposition = { _ in .allow }
        package var stream: @Sendable () async -> BodyPipe? = { nil }
        package var delayed: @Sendable (Request) async -> DelayedRequestDisposition = { _ in .continueLoading }

        package init() {}
    }

    private let answers: Answers
    private let state = Mutex<[String]>([])

    package init(_ answers: Answers = Answers()) { self.answers = answers }

    /// The events so far, in order; repeats of progress and data are one event.
    package var events: [String] { state.withLock { $0 } }

    /// Waits until an event has happened whose text begins so, with a bound.
    package func happened(_ event: String) async throws {
        try await until { events.contains { $0.hasPrefix(event) } }
    }

    private func note(_ event: String, isRepeatable: Bool = false) {
        state.withLock { events in
            if !isRepeatable || events.last != event { events.append(event) }
        }
    }

    // MARK: The session

    package func session(_ session: Session, didCreate task: SessionTask) async { note("created") }

    package func session(_ session: Session, didReceive challenge: Challenge) async -> Challenge.Disposition {
        note("session challenge \(challenge.protectionSpace.method)")
        return await answers.challenge(challenge)
    }

    package func sessionDidFinishEventsForBackgroundSession(_ session: Session) async { note("events finished") }

    package func session(_ session: Session, didBecomeInvalidWith error: LoadError?) async { note("invalid") }

    // MARK: Tasks

    package func task(
        _ task: SessionTask, willPerformHTTPRedirection response: Response?, newRequest: Request
    ) async -> RedirectDisposition {
        note("redirect \(response.map { "\($0.status.code)" } ?? "canonical") \(newRequest.url.path)")
        return await answers.redirect(response, newRequest)
    }

    package func task(_ task: SessionTask, canAuthenticateAgainst space: ProtectionSpace) async -> Bool {
        await answers.space(space)
    }

    package func task(_ task: SessionTask, didReceive challenge: Challenge) async -> Challenge.Disposition {
        note("challenge \(challenge.protectionSpace.method) \(challenge.previousFailureCount)")
        return await answers.challenge(challenge)
    }

    package func task(_ task: SessionTask, didReceive response: Response) async -> ResponseDisposition {
        note("response \(response.status.code)")
        return await answers.response(response)
    }

    package func taskNeedsNewBodyStream(_ task: SessionTask) async -> BodyPipe? {
        note("stream")
        return await answers.stream()
    }

    package func task(
        _ task: SessionTask, willBeginDelayedRequest request: Request
    ) async -> DelayedRequestDisposition {
        note("delayed")
        return await answers.delayed(request)
    }

    package func task(
        _ task: SessionTask, didReceiveInformationalResponse status: HTTPResponse.Status, headerFields: HTTPFields
    ) async { note("informational \(status.code)") }

    package func task(
        _ task: SessionTask, didSendBodyData sent: Int64, totalSent: Int64, totalExpected: Int64?
    ) async { note("sent", isRepeatable: true) }

    package func task(_ task: SessionTask, didReceive data: [UInt8]) async { note("data", isRepeatable: true) }

    package func taskIsWaitingForConnectivity(_ task: SessionTask) async { note("waiting") }

    package func task(_ task: SessionTask, didFinishCollecting metrics: TaskMetrics) async {
        note("metrics \(metrics.transactions.count)")
    }

    package func task(_ task: SessionTask, didCompleteWith error: LoadError?) async {
        note("complete \(error?.code.name ?? "well")")
    }
}
