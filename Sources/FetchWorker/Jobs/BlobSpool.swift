import FetchEngine
import FetchJobs
import FetchRuntime

/// Writes a body that is too large for a row into the blob store while it arrives.
struct BlobSpool {
    let blobs: any BlobStore

    /// - Throws: The load's error, or `cannotWriteToFile` when the store does not take the bytes.
    nonisolated(nonsending) func store(
        _ body: ResponseBody,
        of response: Response,
        _ live: LiveJob
    ) async throws(LoadError) -> JobOutcome.Body {
        var draft: BlobDraft
        do throws(StoreError) { draft = try await BlobDraft(in: blobs) } catch { throw LoadError(error) }
        do {
            let opened = draft
            if try await draft.growReadably() {
                live.begin(LiveBody(response) { () throws(StoreError) in try await opened.openGrowing() })
            }
            for try await chunk in body {
                try await draft.append(chunk)
                live.grow(to: draft.count)
            }
            let content = try await draft.finish()
            live.completeBody()
            return .blob(content)
        } catch {
            await draft.abandon()
            switch error {
            case let error as LoadError: throw error
            case let error as StoreError: throw LoadError(error)
            default: throw LoadError(.cancelled, "The load was cancelled.")
            }
        }
    }
}

extension LiveBody {
    init(_ response: Response, open: @escaping @Sendable () async throws(StoreError) -> any GrowingBody) {
        let encoding = response.textEncodingName.map { "; charset=\($0)" } ?? ""
        self.init(
            contentType: response.mimeType.map { $0 + encoding }, filename: response.suggestedFilename, open: open)
    }
}

extension JobProgress {
    init(_ task: SessionTask) {
        let sending = task.sending
        self.init(
            bytesSent: sending?.bytes ?? 0,
            bytesExpectedToSend: task.countOfBytesExpectedToSend,
            bytesReceived: task.countOfBytesReceived,
            bytesExpectedToReceive: task.countOfBytesExpectedToReceive
        )
        self.sending = sending?.number
        let progress = task.progress
        bytesPerSecond = progress.throughput
        timeRemaining = progress.estimatedTimeRemaining
    }
}

extension LoadError {
    /// The error of a job when the store does not take or give its bytes.
    init(_ error: StoreError) {
        self.init(error.code == .blobGone ? .fileDoesNotExist : .cannotWriteToFile, error.message)
    }
}
