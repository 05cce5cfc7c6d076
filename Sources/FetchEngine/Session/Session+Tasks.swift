// The ways to make a task.
extension Session {
    /// Makes a data task.
    ///
    /// Nothing is sent before the task is resumed or asked for its response.
    ///
    /// - Parameters:
    ///   - request: The request to load.
    ///   - configuration: Replaces the session's for this task.
    ///   - delegate: Is asked before the session's delegate.
    ///   - earliestBegin: When it may begin; at once by default.
    public func dataTask(
        with request: Request, configuration: SessionConfiguration? = nil, delegate: (any TaskDelegate)? = nil,
        earliestBegin: ContinuousClock.Instant? = nil
    ) -> DataTask {
        dataTask(
            with: request, sharing: configuration.map { SharedConfiguration($0) }, delegate: delegate,
            earliestBegin: earliestBegin)
    }

    /// The same with a configuration that others hold too.
    package func dataTask(
        with request: Request, sharing configuration: SharedConfiguration?, delegate: (any TaskDelegate)?,
        earliestBegin: ContinuousClock.Instant? = nil
    ) -> DataTask {
        made(DataTask(creation(of: request, configuration, delegate, notBefore: earliestBegin)))
    }

    /// Makes a data task for a URL with everything else as it is by default.
    ///
    /// - Parameters:
    ///   - url: The URL to load, with GET.
    ///   - delegate: Is asked before the session's delegate.
    public func dataTask(with url: URLRecord, delegate: (any TaskDelegate)? = nil) -> DataTask {
        dataTask(with: Request(url: url), delegate: delegate)
    }

    /// Makes a data task that passes its complete body, or its error, to a closure.
    ///
    /// The closure is called once, last. Response and data are not reported to the delegates; they still decide
    /// about redirects and challenges.
    ///
    /// - Parameters:
    ///   - request: The request to load.
    ///   - configuration: Replaces the session's for this task.
    ///   - delegate: Is asked before the session's delegate.
    ///   - completion: Gets the body and the response.
    public func dataTask(
        with request: Request, configuration: SessionConfiguration? = nil, delegate: (any TaskDelegate)? = nil,
        completion: @escaping @Sendable (Result<([UInt8], Response), LoadError>) async -> Void
    ) -> DataTask {
        let shared = configuration.map { SharedConfiguration($0) }
        return made(DataTask(creation(of: request, shared, delegate), completion: completion))
    }

    /// Makes an upload task.
    ///
    /// - Parameters:
    ///   - request: Where to and how; a body it has is replaced.
    ///   - body: The body to send.
    ///   - configuration: Replaces the session's for this task.
    ///   - delegate: Is asked before the session's delegate.
    public func uploadTask(
        with request: Request, from body: RequestBody, configuration: SessionConfiguration? = nil,
        delegate: (any TaskDelegate)? = nil
    ) -> UploadTask {
        var request = request
        request.body = body
        return made(UploadTask(creation(of: request, configuration.map { SharedConfiguration($0) }, delegate)))
    }

    /// Makes an upload task that goes on where another one stopped.
    ///
    /// The server is asked how much it has, and sent the rest. When it knows nothing of the upload any more, or the
    /// request is for another URL or with another method than the earlier one, all of it is sent.
    ///
    /// - Parameters:
    ///   - data: The data of the earlier task: its ``LoadError/uploadResumeData``, or from `cancelProducingResumeData`.
    ///   - request: The request that the earlier task was made with; a body it has is replaced.
    ///   - body: The same content as before, from its beginning.
    ///   - configuration: Replaces the session's for this task.
    ///   - delegate: Is asked before the session's delegate.
    public func uploadTask(
        withResumeData data: UploadResumeData, request: Request, from body: RequestBody,
        configuration: SessionConfiguration? = nil, delegate: (any TaskDelegate)? = nil
    ) -> UploadTask {
        var request = request
        request.body = body
        let isSame = request.url.withoutCredentials() == data.url && request.method == data.method
        let shared = configuration.map { SharedConfiguration($0) }
        return made(UploadTask(creation(of: request, shared, delegate), resuming: isSame ? data : nil))
    }

    /// Makes an upload task whose body the delegate gives when it is needed, with `taskNeedsNewBodyStream`.
    ///
    /// - Parameters:
    ///   - request: Where to and how; a body it has is replaced.
    ///   - length: How many bytes the body has; `nil` when that is unknown.
    ///   - delegate: Is asked for the stream, before the session's delegate.
    public func uploadTask(
        withStreamedRequest request: Request, length: Int64? = nil, delegate: (any TaskDelegate)? = nil
    ) -> UploadTask {
        uploadTask(with: request, from: .stream(length: length, DelegatedStream()), delegate: delegate)
    }

    /// Loads a whole body into memory.
    ///
    /// Cancelling the calling task cancels the load.
    public nonisolated(nonsending) func data(
        for request: Request, configuration: SessionConfiguration? = nil, delegate: (any TaskDelegate)? = nil
    ) async throws(LoadError) -> ([UInt8], Response) {
        try await dataTask(with: request, configuration: configuration, delegate: delegate).data()
    }

    /// Sends a body and loads the answer's whole body into memory.
    ///
    /// Cancelling the calling task cancels the load.
    public nonisolated(nonsending) func upload(
        for request: Request, from body: RequestBody, delegate: (any TaskDelegate)? = nil
    ) async throws(LoadError) -> ([UInt8], Response) {
        try await uploadTask(with: request, from: body, delegate: delegate).data()
    }

    /// Loads a body piece by piece.
    ///
    /// Returns with the head. The connection waits when the caller reads too slowly.
    public nonisolated(nonsending) func bytes(
        for request: Request, delegate: (any TaskDelegate)? = nil
    ) async throws(LoadError) -> (ResponseBody, Response) {
        let task = dataTask(with: request, delegate: delegate)
        let response = try await task.response()
        return (task.body, response)
    }
}

/// A body that only a delegate has.
private struct DelegatedStream: BodyStreamProvider {
    func makeStream() async -> BodyPipe? { nil }
}
