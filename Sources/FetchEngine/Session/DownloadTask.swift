import Synchronization

/// A load whose body goes to a file.
///
/// The file is written under a temporary name and gets its own in one step when it is complete. A file that a network
/// failure left incomplete can be continued: see ``LoadError/resumeData``.
///
/// ```swift
/// let download = session.downloadTask(with: request)
/// download.resume()
/// if let data = await download.cancelProducingResumeData() {
///     let rest = session.downloadTask(withResumeData: data)
///     rest.resume()
/// }
/// ```
public final class DownloadTask: SessionTask, @unchecked Sendable {
    /// Gets the result in place of the delegate's response and progress calls.
    typealias Completion = @Sendable (Result<DownloadedFile, LoadError>) async -> Void

    struct State {
        /// Decides about the response when this continues an earlier download.
        var resumption: Boxed<ResumeMachine>?
        /// Its decision.
        var action: ResumeMachine.Action?
        /// Whether the earlier download's file was looked at; a hop after the first does not read it again.
        var hasCheckedDisk = false
        var wantsResumeData = false
        /// How many bytes the file has.
        var written: Int64 = 0
        /// Where the file grows.
        var path: String?
        /// The resume data at the beginning of the download; nil when it cannot be resumed.
        var beginning: Boxed<ResumeData>?
        var resumability: Resumability?
    }

    /// How the file is kept.
    public let options: DownloadOptions
    let completion: Completion?
    /// The data task that this one goes on for; its load is this one's.
    let predecessor: DataTask?
    /// The request for the whole, when the first one is for the rest.
    let wholeRequest: Request
    let downloadState: Mutex<State>

    init(
        _ creation: Creation, options: DownloadOptions, resuming data: ResumeData? = nil,
        after predecessor: DataTask? = nil, completion: Completion? = nil
    ) {
        self.options = options
        self.completion = completion
        self.predecessor = predecessor
        wholeRequest = creation.request
        let machine = data.flatMap { data in
            (FileSize.of(data.path) ?? -1) >= data.byteCount
                ? ResumeMachine(data, acrossURLs: options.resumesAcrossURLs) : nil
        }
        var creation = creation
        if let request = machine?.request(creation.request) { creation.request = request }
        downloadState = Mutex(State(resumption: machine.map { Boxed($0) }))
        super.init(creation)
    }

    override var drivesItself: Bool { completion != nil || super.drivesItself }
    override var reportsResponses: Bool { completion == nil }
    override var endsItself: Bool { true }

    /// The delegate that is notified of the file; nil with a completion handler.
    var fileDelegate: (any DownloadDelegate)? {
        completion == nil ? notifiedDelegate as? any DownloadDelegate : nil
    }

    /// Whether a download can go on in the middle when its file is decoded from this media type.
    ///
    /// - Parameters:
    ///   - mediaType: The type that is decoded, such as `application/gzip`.
    ///   - decoders: The decoders that there are.
    public static func canResume(
        decodedWith mediaType: String, decoders: [any BodyDecoder.Type] = DownloadOptions().decoders
    ) -> Bool {
        decoders.first { $0.mediaTypes.contains(mediaType.lowercased()) }?.canResume ?? false
    }

    // MARK: Driving

    /// Starts the task and returns its file.
    ///
    /// Cancelling the calling task cancels the load. May be called once.
    public nonisolated(nonsending) func result() async throws(LoadError) -> DownloadedFile {
        try await serve(on: session.transferLoop) { loop throws(LoadError) in try await receiveFile(on: loop) }
    }

    /// Starts the task and drives it to its end, telling the completion handler, or the delegates everything.
    ///
    /// Failures are reported, not thrown.
    public override nonisolated(nonsending) func run() async {
        do throws(LoadError) {
            let file = try await result()
            await completion?(.success(file))
        } catch {
            await completion?(.failure(error))
        }
    }

    // MARK: Stopping and going on

    /// Ends the task, and returns the data from which another one can resume.
    ///
    /// - Returns: The resume data; nil when the download cannot be continued, or was complete already.
    public func cancelProducingResumeData() async -> ResumeData? {
        downloadState.withLock { $0.wantsResumeData = true }
        let isRunning = load.record.withLock { $0.hasStarted || $0.driver != nil } || drivesItself
        cancel()
        guard isRunning else { return downloadState.withLock { $0.resumption?.value.data } }
        await ended()
        return error?.resumeData
    }

    /// Where the file grows; nil before its first byte.
    package var partialPath: String? { downloadState.withLock { $0.path } }

    /// How many bytes the file has.
    package var countOfBytesWritten: Int64 { downloadState.withLock { $0.written } }

    /// The data from which another task can resume when the process is killed before this one ends.
    ///
    /// Nil while the file is empty and when the download cannot be continued. The bytes are written but not synced.
    package var checkpoint: ResumeData? {
        downloadState.withLock { state in
            guard var data = state.beginning?.value, state.written > 0 else { return nil }
            data.byteCount = state.written
            return data
        }
    }

    /// Whether another task could go on; nil before the response has come.
    package var resumability: Resumability? { downloadState.withLock { $0.resumability } }

    /// Whether the partial file is kept after this error.
    func keepsPartialFile(after error: LoadError) -> Bool {
        // Nobody knows which of its bytes are wrong.
        if error.code == .contentDigestMismatch { return false }
        if error.code == .cancelled {
            return downloadState.withLock { $0.wantsResumeData } || options.deletesFileUponFailure == false
        }
        guard error.isTransient else { return options.deletesFileUponFailure == false }
        return !(options.deletesFileUponFailure ?? (options.destination != nil))
    }

    /// Nothing is missing of the earlier download: the server is not asked for the rest.
    ///
    /// To learn whether there is a newer version is another download.
    nonisolated(nonsending) override func completeOnDisk() async -> Response? {
        let untouched = downloadState.withLock { state -> ResumeData? in
            guard !state.hasCheckedDisk else { return nil }
            state.hasCheckedDisk = true
            return state.action == nil ? state.resumption?.value.data : nil
        }
        guard let data = untouched, await data.isWhole(options.expectedDigest) else { return nil }
        downloadState.withLock { $0.action = .complete }
        return data.whole(with: nil, total: data.byteCount)
    }

    override func request(after response: Response) -> Request? {
        downloadState.withLock { state in
            if state.action == .complete { return nil }
            guard let action = state.resumption?.value.received(response) else { return nil }
            state.action = action
            if case .resume(let offset, _) = action { state.written = offset }
            return action == .askAgain ? wholeRequest : nil
        }
    }

    /// An error before any byte came leaves an earlier download's data as they were.
    override func finalError(_ error: LoadError) -> LoadError {
        var error = error
        if error.resumeData == nil, keepsPartialFile(after: error) {
            error.resumeData = downloadState.withLock { $0.action == nil ? $0.resumption?.value.data : nil }
        }
        return error
    }
}
