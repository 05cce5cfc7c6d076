import Synchronization

/// A data task that sends a body.
///
/// ```swift
/// let task = session.uploadTask(with: request, from: .file(path: "/srv/report.pdf"))
/// let (answer, response) = try await task.data()
/// ```
public final class UploadTask: DataTask, @unchecked Sendable {
    private struct State {
        /// Decides when this continues an earlier upload, or one is made by tus.
        var machine: UploadMachine?
        var wantsResumeData = false
    }

    private let uploadState: Mutex<State>
    /// The upload as a whole.
    private let wholeRequest: Request

    init(_ creation: Creation, resuming data: UploadResumeData? = nil) {
        wholeRequest = creation.request
        let settings = creation.configuration.value
        let machine: UploadMachine? =
            if let data {
                UploadMachine(data, whole: creation.request)
            } else if settings.resumesUploads, settings.uploadProtocol == .tus {
                UploadMachine(creating: creation.request)
            } else {
                nil
            }
        uploadState = Mutex(State(machine: machine))
        var creation = creation
        if let machine { creation.request = machine.firstRequest }
        super.init(creation)
    }

    /// Ends the task, and returns the data from which another one can resume.
    ///
    /// - Returns: The resume data; nil when the server does not keep the received part, or the upload was complete
    ///   already.
    public func cancelProducingResumeData() async -> UploadResumeData? {
        uploadState.withLock { $0.wantsResumeData = true }
        let isRunning = load.record.withLock { $0.hasStarted || $0.driver != nil } || drivesItself
        cancel()
        guard isRunning else { return uploadState.withLock { $0.machine?.data } }
        await ended()
        return error?.uploadResumeData
    }

    override func request(after response: Response) -> Request? {
        uploadState.withLock { $0.machine?.received(response) }
    }

    override func finalError(_ error: LoadError) -> LoadError {
        let wants = uploadState.withLock { $0.wantsResumeData }
        guard wants || error.isTransient, error.uploadResumeData == nil else { return error }
        var error = error
        let uploadURL = load.state.values.withLock { $0.uploadURL }
        error.uploadResumeData =
            uploadURL.map { UploadResumeData(request: wholeRequest, uploadURL: $0) }
            ?? uploadState.withLock { $0.machine?.data }
        return error
    }
}
