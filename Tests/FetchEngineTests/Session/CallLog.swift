import FetchEngine
import HTTPTypes
import Synchronization

/// A delegate that writes down every call, takes its time for each, and notices calls that come meanwhile.
final class CallLog: SessionDelegate, DownloadDelegate {
    private struct State {
        var events: [String] = []
        /// The calls that have not returned.
        var open: [String] = []
        var overlaps: [String] = []
    }

    private let credential: Credential?
    private let state = Mutex(State())

    /// - Parameter credential: The answer to every challenge that is no repeat.
    init(credential: Credential? = nil) { self.credential = credential }

    /// The calls so far, in order; repeats of progress and data are one call.
    var events: [String] { state.withLock { $0.events } }

    /// The calls that came before the one before them had returned.
    var overlaps: [String] { state.withLock { $0.overlaps } }

    private func call<Answer: Sendable>(_ event: String, answer: Answer) async -> Answer {
        state.withLock { state in
            if let open = state.open.first { state.overlaps.append("\(event) during \(open)") }
            state.open.append(event)
            if state.events.last != event { state.events.append(event) }
        }
        // So that the next call would come in it, were it not held back; a cancelled question ends at once.
        try? await Task.sleep(for: .milliseconds(2))
        state.withLock { state in
            if let index = state.open.firstIndex(of: event) { state.open.remove(at: index) }
        }
        return answer
    }

    private func call(_ event: String) async { await call(event, answer: ()) }

    private func disposition(of challenge: Challenge) -> Challenge.Disposition {
        guard let credential, challenge.previousFailureCount == 0 else { return .performDefaultHandling }
        return .useCredential(credential)
    }

    // MARK: The session

    func session(_ session: Session, didCreate task: SessionTask) async { await call("created") }

    func session(_ session: Session, didReceive challenge: Challenge) async -> Challenge.Disposition {
        await call("session challenge \(challenge.protectionSpace.method)", answer: .performDefaultHandling)
    }

    func sessionDidFinishEventsForBackgroundSession(_ session: Session) async { await call("events finished") }

    func session(_ session: Session, didBecomeInvalidWith error: LoadError?) async { await call("invalid") }

    // MARK: Tasks

    func task(_ task: SessionTask, willBeginDelayedRequest request: Request) async -> DelayedRequestDisposition {
        await call("delayed", answer: .continueLoading)
    }

    func task(
        _ task: SessionTask, willPerformHTTPRedirection response: Response?, newRequest: Request
    ) async -> RedirectDisposition {
        await call("redirect \(newRequest.url.path)", answer: .performDefaultHandling)
    }

    func task(_ task: SessionTask, canAuthenticateAgainst space: ProtectionSpace) async -> Bool {
        await call("space \(space.method)", answer: true)
    }

    func task(_ task: SessionTask, didReceive challenge: Challenge) async -> Challenge.Disposition {
        await call("challenge \(challenge.protectionSpace.method)", answer: disposition(of: challenge))
    }

    func task(_ task: SessionTask, didReceive response: Response) async -> ResponseDisposition {
        await call("response \(response.status.code)", answer: .allow)
    }

    func task(_ task: SessionTask, willCache response: CachedResponse) async -> CachedResponse? {
        await call("cache", answer: response)
    }

    func taskNeedsNewBodyStream(_ task: SessionTask) async -> BodyPipe? { await call("stream", answer: nil) }

    func task(
        _ task: SessionTask, didReceiveInformationalResponse status: HTTPResponse.Status, headerFields: HTTPFields
    ) async { await call("informational \(status.code)") }

    func task(
        _ task: SessionTask, didSendBodyData sent: Int64, totalSent: Int64, totalExpected: Int64?
    ) async { await call("sent") }

    func task(_ task: SessionTask, didReceive data: [UInt8]) async { await call("data") }

    func taskIsWaitingForConnectivity(_ task: SessionTask) async { await call("waiting") }

    func task(_ task: SessionTask, didBecome download: DownloadTask) async { await call("became download") }

    func task(_ task: SessionTask, didFinishCollecting metrics: TaskMetrics) async {
        await call("metrics \(metrics.transactions.count)")
    }

    func task(_ task: SessionTask, didCompleteWith error: LoadError?) async {
        await call("complete \(error?.code.name ?? "well")")
    }

    // MARK: Downloads

    func task(_ task: DownloadTask, didResumeAtOffset offset: Int64, expectedTotalBytes: Int64?) async {
        await call("resumed \(offset)")
    }

    func task(_ task: DownloadTask, shouldDecodeSourceDataOfMIMEType mediaType: String) async -> Bool {
        await call("decode \(mediaType)", answer: true)
    }

    func task(
        _ task: DownloadTask, decideDestinationWithSuggestedFilename filename: String
    ) async -> DownloadDestination? { await call("destination for \(filename)", answer: nil) }

    func task(_ task: DownloadTask, didCreateDestination path: String) async { await call("created file") }

    func task(
        _ task: DownloadTask, didWriteData written: Int64, totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64?
    ) async { await call("wrote") }

    func task(_ task: DownloadTask, didFinishDownloadingTo file: DownloadedFile) async {
        await call("finished \(file.byteCount)")
    }
}
