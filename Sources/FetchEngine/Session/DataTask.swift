import HTTPTypes
import Synchronization

/// A load whose body is delivered as it comes, or whole at the end.
///
/// ```swift
/// let task = session.dataTask(with: request)
/// let response = try await task.response()
/// guard response.status == .ok else { return }
/// for try await chunk in task.body { print(chunk.count) }
/// ```
public class DataTask: SessionTask, @unchecked Sendable {
    /// Gets the result in place of the delegate's response and data calls.
    typealias Completion = @Sendable (Result<([UInt8], Response), LoadError>) async -> Void

    let completion: Completion?
    private let isBecomingDownload = Mutex(false)
    /// How many bytes of the part at hand have come; negative while the body has no parts.
    private let countOfPartBytes = Atomic<Int64>(-1)

    init(_ creation: Creation, completion: Completion? = nil) {
        self.completion = completion
        super.init(creation)
    }

    override var drivesItself: Bool { completion != nil || super.drivesItself }

    /// Whether the body goes to the download task that this one becomes.
    override var endsItself: Bool { isBecomingDownload.withLock { $0 } }

    /// Whether the response was answered with `becomeDownload`: ``becomeDownload(options:)`` follows.
    package var goesOnAsDownload: Bool { endsItself }

    override func becomesDownload() { isBecomingDownload.withLock { $0 = true } }

    /// They are reported to the completion handler in the delegate's place (TSK-11).
    override var reportsResponses: Bool { completion == nil }

    /// How many bytes of bodies have come, those of redirects included.
    ///
    /// Where parts replace one another and a delegate is told of each, it starts anew with each of them.
    public override var countOfBytesReceived: Int64 {
        let part = countOfPartBytes.load(ordering: .relaxed)
        return part < 0 ? super.countOfBytesReceived : part
    }

    /// A part of the body begins (RSP-8).
    func beginPart() { countOfPartBytes.store(0, ordering: .relaxed) }

    /// Bytes of the part at hand have come.
    func countPart(_ bytes: Int) { countOfPartBytes.add(Int64(bytes), ordering: .relaxed) }

    /// The whole body, when ``response(bufferingUpTo:)`` waited for it.
    public var completeBody: [UInt8]? { load.record.withLock { $0.completeBody } }

    /// Starts the task and returns its final response.
    ///
    /// Returns when the load is complete with a body of at most `limit` bytes, which ``completeBody`` then holds.
    /// When the body is larger it returns as soon as that is known, and ``body`` gives all of it. With no limit it
    /// returns with the head. Cancelling the calling task cancels the load. May be called once.
    ///
    /// - Parameter limit: How much of the body to wait for and keep in memory.
    public nonisolated(nonsending) func response(bufferingUpTo limit: Int = 0) async throws(LoadError) -> Response {
        try await serve(on: session.transferLoop) { loop throws(LoadError) in
            try await load.response(bufferingUpTo: max(0, limit), on: loop)
        }
    }

    /// Goes on as a download: the body goes to a file, in the same transfer.
    ///
    /// For a caller that has awaited the response and not got the body with it: because it is larger than the limit, or
    /// because the delegate has answered the response with `becomeDownload`. Once, and in place of ``body``.
    ///
    /// - Parameter options: Where the file goes and how it is kept.
    public func becomeDownload(options: DownloadOptions = DownloadOptions()) -> DownloadTask {
        becomesDownload()
        return session.downloadTask(after: self, options: options)
    }

    /// The bytes of the body, as they come.
    ///
    /// For one reader, once, after the response.
    public var body: ResponseBody { ResponseBody(task: self) }

    /// Starts the task and returns its final response with the whole body.
    ///
    /// Cancelling the calling task cancels the load. May be called once.
    public nonisolated(nonsending) func data() async throws(LoadError) -> ([UInt8], Response) {
        let response = try await response(bufferingUpTo: ExchangeLimits.highWater)
        if let body = completeBody { return (body, response) }
        var body: [UInt8] = []
        for try await chunk in self.body { body.append(contentsOf: chunk) }
        return (body, response)
    }

    /// Starts the task and drives it to its end, telling the completion handler, or the delegates everything.
    ///
    /// Failures are reported, not thrown.
    public override nonisolated(nonsending) func run() async {
        if let completion {
            do throws(LoadError) {
                await completion(.success(try await data()))
            } catch {
                await completion(.failure(error))
            }
        } else {
            do throws(LoadError) {
                _ = try await response()
                // A task that became a download, or has parts, is driven otherwise.
                if endsItself { return await goOnAsDownload() }
                if let boundary = response?.boundary {
                    return await deliverParts(separatedBy: boundary)
                }
                for try await chunk in body { await notifiedDelegate?.task(self, didReceive: chunk) }
            } catch {
                // The delegate gets it from `didCompleteWith`.
            }
        }
    }

    private nonisolated(nonsending) func goOnAsDownload() async {
        let download = becomeDownload()
        await notifiedDelegate?.task(self, didBecome: download)
        await download.run()
    }
}
