import HTTPTypes

// The ways to make a download task.
extension Session {
    /// Makes a download task.
    ///
    /// - Parameters:
    ///   - request: The request to load; it may have a body.
    ///   - options: Where the file goes and how it is kept.
    ///   - configuration: Replaces the session's for this task.
    ///   - delegate: Is asked before the session's delegate.
    ///   - earliestBegin: When it may begin; at once by default.
    public func downloadTask(
        with request: Request, options: DownloadOptions = DownloadOptions(),
        configuration: SessionConfiguration? = nil, delegate: (any TaskDelegate)? = nil,
        earliestBegin: ContinuousClock.Instant? = nil
    ) -> DownloadTask {
        downloadTask(
            with: request, options: options, sharing: configuration.map { SharedConfiguration($0) }, delegate: delegate,
            earliestBegin: earliestBegin)
    }

    /// The same with a configuration that others hold too.
    package func downloadTask(
        with request: Request, options: DownloadOptions, sharing configuration: SharedConfiguration?,
        delegate: (any TaskDelegate)?, earliestBegin: ContinuousClock.Instant? = nil
    ) -> DownloadTask {
        made(DownloadTask(creation(of: request, configuration, delegate, notBefore: earliestBegin), options: options))
    }

    /// Makes a download task that passes its file, or its error, to a closure.
    ///
    /// A temporary file is deleted when the closure returns, unless it was moved or the value is kept.
    ///
    /// - Parameters:
    ///   - request: The request to load.
    ///   - options: Where the file goes and how it is kept.
    ///   - completion: Is called once, last.
    public func downloadTask(
        with request: Request, options: DownloadOptions = DownloadOptions(),
        completion: @escaping @Sendable (Result<DownloadedFile, LoadError>) async -> Void
    ) -> DownloadTask {
        made(DownloadTask(creation(of: request, nil, nil), options: options, completion: completion))
    }

    /// Makes a download task that goes on where another one stopped.
    ///
    /// When the resource has changed since, or the partial file is gone, it starts from the beginning: bytes of two
    /// states of a resource never meet in one file.
    ///
    /// - Parameters:
    ///   - data: The resume data of the earlier task: its ``LoadError/resumeData``, or from
    ///     `cancelProducingResumeData`.
    ///   - request: The request, when it needs more than the URL: credentials for example. One that asks for something
    ///     else than the earlier task did starts from the beginning.
    ///   - options: Where the file goes and how it is kept.
    ///   - configuration: Replaces the session's for this task.
    ///   - delegate: Is asked before the session's delegate.
    public func downloadTask(
        withResumeData data: ResumeData, request: Request? = nil, options: DownloadOptions = DownloadOptions(),
        configuration: SessionConfiguration? = nil, delegate: (any TaskDelegate)? = nil
    ) -> DownloadTask {
        downloadTask(
            withResumeData: data, request: request, options: options,
            sharing: configuration.map { SharedConfiguration($0) }, delegate: delegate)
    }

    /// The same with a configuration that others hold too.
    package func downloadTask(
        withResumeData data: ResumeData, request: Request?, options: DownloadOptions,
        sharing configuration: SharedConfiguration?, delegate: (any TaskDelegate)?
    ) -> DownloadTask {
        let isSame = request.map { $0.resumeIdentity == data.requestIdentity && $0.method == .get } ?? true
        let creation = creation(of: request ?? Request(url: data.url), configuration, delegate)
        return made(DownloadTask(creation, options: options, resuming: isSame ? data : nil))
    }

    /// Downloads to a file.
    ///
    /// Cancelling the calling task cancels the load.
    public nonisolated(nonsending) func download(
        for request: Request, options: DownloadOptions = DownloadOptions(), delegate: (any TaskDelegate)? = nil
    ) async throws(LoadError) -> DownloadedFile {
        try await downloadTask(with: request, options: options, delegate: delegate).result()
    }

    /// Continues an earlier download.
    ///
    /// Cancelling the calling task cancels the load.
    public nonisolated(nonsending) func download(
        resumeFrom data: ResumeData, options: DownloadOptions = DownloadOptions(),
        delegate: (any TaskDelegate)? = nil
    ) async throws(LoadError) -> DownloadedFile {
        try await downloadTask(withResumeData: data, options: options, delegate: delegate).result()
    }

    /// Makes the download task that a data task becomes: another object, the same load.
    func downloadTask(after task: DataTask, options: DownloadOptions) -> DownloadTask {
        var creation = creation(of: task.originalRequest, nil, task.delegate)
        creation.configuration = task.shared
        creation.load = task.load
        // Its place in the session too: there is never a moment without a task.
        creation.identifier = task.identifier
        return made(DownloadTask(creation, options: options, after: task))
    }
}
