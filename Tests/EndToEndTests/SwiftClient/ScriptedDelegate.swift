import FetchEngine
import FetchdClient
import Foundation
import HTTPTypes
import Synchronization
import TestSupport

/// One delegate for sessions of the engine and of the client, which writes down the same calls of both.
///
/// Progress is left out: how often it comes is not decided.
final class ScriptedDelegate: SessionDelegate, DownloadDelegate, RemoteURLSessionRedirectDelegate,
    RemoteURLSessionChallengeDelegate, RemoteURLSessionResponseDelegate
{
    struct Answers: Sendable {
        /// Nil takes the redirect response.
        var redirect: @Sendable (Request) -> Request? = { $0 }
        var challenge = Challenge.Disposition.performDefaultHandling
        var acceptsChain = true
        var response = ResponseDisposition.allow
        /// The first word of the call that does not return before the delegate is let go.
        var holdsAt: String?
    }

    private let answers: Answers
    private let state = Mutex<(began: [String], ended: [String], file: [UInt8]?)>(([], [], nil))
    private let (released, release) = AsyncStream.makeStream(of: Void.self)

    init(_ answers: Answers = Answers()) { self.answers = answers }

    /// The calls so far, in order; repeats of data are one call.
    var calls: [String] { state.withLock { $0.began } }
    /// Those that have returned.
    var returned: [String] { state.withLock { $0.ended } }
    /// The content of the file.
    var file: [UInt8]? { state.withLock { $0.file } }

    func happened(_ call: String) async throws { try await until { calls.contains { $0.hasPrefix(call) } } }

    /// Lets the call return that is held.
    func letGo() { release.finish() }

    private func note(_ call: String) async {
        let isRepeated = state.withLock { state in
            guard call != "data" || state.began.last != call else { return true }
            state.began.append(call)
            return false
        }
        if let place = answers.holdsAt, call.hasPrefix(place) { for await _ in released {} }
        if !isRepeated { state.withLock { $0.ended.append(call) } }
    }

    private func redirected(_ response: Response?, _ request: Request) async -> Request? {
        await note("redirect \(response.map { "\($0.status.code)" } ?? "canonical") \(request.url.path)")
        return answers.redirect(request)
    }

    private func challenged(_ challenge: Challenge) async -> Challenge.Disposition {
        await note("challenge \(challenge.protectionSpace.method) \(challenge.previousFailureCount)")
        if let trust = challenge.serverTrust {
            return answers.acceptsChain ? .useCredential(Credential(trust: trust)) : .rejectProtectionSpace
        }
        // A credential that was refused is not shown again.
        return challenge.previousFailureCount == 0 ? answers.challenge : .performDefaultHandling
    }

    private func received(_ response: Response) async -> ResponseDisposition {
        await note("response \(response.status.code)")
        return answers.response
    }

    private func finished(at path: String) async {
        let content = FileManager.default.contents(atPath: path).map { Array($0) }
        state.withLock { $0.file = content }
        await note("file \(content?.count ?? -1)")
    }

    private func completed(_ error: LoadError?) async { await note("complete \(error?.code.name ?? "well")") }

    // MARK: The engine

    func session(_ session: Session, didCreate task: SessionTask) async { await note("created") }

    func session(_ session: Session, didBecomeInvalidWith error: LoadError?) async { await note("invalid") }

    func task(
        _ task: SessionTask, willPerformHTTPRedirection response: Response?, newRequest: Request
    ) async -> RedirectDisposition {
        await redirected(response, newRequest).map { .follow($0) } ?? .returnResponse
    }

    func task(_ task: SessionTask, didReceive challenge: Challenge) async -> Challenge.Disposition {
        await challenged(challenge)
    }

    func task(_ task: SessionTask, didReceive response: Response) async -> ResponseDisposition {
        await received(response)
    }

    func task(_ task: SessionTask, didReceive data: [UInt8]) async { await note("data") }

    func task(_ task: DownloadTask, didFinishDownloadingTo file: DownloadedFile) async {
        await finished(at: file.path)
    }

    func task(_ task: SessionTask, didFinishCollecting metrics: TaskMetrics) async {
        await note("metrics \(metrics.transactions.count)")
    }

    func task(_ task: SessionTask, didCompleteWith error: LoadError?) async { await completed(error) }

    // MARK: The client

    func urlSession(_ session: RemoteURLSession, didCreateTask task: RemoteURLSessionTask) async {
        await note("created")
    }

    func urlSession(_ session: RemoteURLSession, didBecomeInvalidWithError error: LoadError?) async {
        await note("invalid")
    }

    func urlSession(
        _ session: RemoteURLSession, task: RemoteURLSessionTask, willPerformHTTPRedirection response: Response?,
        newRequest request: Request
    ) async -> Request? { await redirected(response, request) }

    func urlSession(
        _ session: RemoteURLSession, task: RemoteURLSessionTask, didReceive challenge: Challenge
    ) async -> Challenge.Disposition { await challenged(challenge) }

    func urlSession(
        _ session: RemoteURLSession, dataTask: RemoteURLSessionTask, didReceive response: Response
    ) async -> ResponseDisposition { await received(response) }

    func urlSession(_ session: RemoteURLSession, dataTask: RemoteURLSessionTask, didReceive data: [UInt8]) async {
        await note("data")
    }

    func urlSession(
        _ session: RemoteURLSession, downloadTask: RemoteURLSessionTask, didFinishDownloadingTo location: URL
    ) async { await finished(at: location.path) }

    func urlSession(
        _ session: RemoteURLSession, task: RemoteURLSessionTask, didFinishCollecting metrics: TaskMetrics
    ) async { await note("metrics \(metrics.transactions.count)") }

    func urlSession(
        _ session: RemoteURLSession, task: RemoteURLSessionTask, didCompleteWithError error: LoadError?
    ) async { await completed(error) }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: RemoteURLSession) async {
        await note("events finished")
    }
}
