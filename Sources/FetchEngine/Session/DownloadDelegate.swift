/// Decides about downloads and is notified of them, beside what ``TaskDelegate`` says of every task.
///
/// Calls of one download come in this order: response, decoding, choice of the destination, resumption, the
/// destination's path, progress, the file, metrics, completion.
public protocol DownloadDelegate: TaskDelegate {
    /// The download goes on where an earlier one stopped; called before any data, and only when the server sends the
    /// rest.
    nonisolated(nonsending) func task(_ task: DownloadTask, didResumeAtOffset offset: Int64, expectedTotalBytes: Int64?)
        async

    /// The file is in a format that can be decoded while it comes, known by this media type.
    ///
    /// Asked once, for a format that the file's content has.
    nonisolated(nonsending) func task(_ task: DownloadTask, shouldDecodeSourceDataOfMIMEType mediaType: String) async
        -> Bool

    /// The file needs a place; `nil` leaves it a temporary file.
    ///
    /// Not asked when the options have a destination. The name is safe, and that of the decoded file.
    nonisolated(nonsending) func task(
        _ task: DownloadTask, decideDestinationWithSuggestedFilename filename: String
    ) async -> DownloadDestination?

    /// The file has its final path, unique and after decoding; it appears there when it is complete.
    nonisolated(nonsending) func task(_ task: DownloadTask, didCreateDestination path: String) async

    /// More bytes are in the file: how many came, how many are in it, and how many it will have.
    nonisolated(nonsending) func task(
        _ task: DownloadTask, didWriteData written: Int64, totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64?) async

    /// The file is complete.
    ///
    /// A temporary file is deleted when this returns, unless it was moved or the value is kept.
    nonisolated(nonsending) func task(_ task: DownloadTask, didFinishDownloadingTo file: DownloadedFile) async
}

extension DownloadDelegate {
    /// Ignores it.
    public nonisolated(nonsending) func task(
        _ task: DownloadTask, didResumeAtOffset offset: Int64, expectedTotalBytes: Int64?
    ) async {}

    /// Decodes nothing.
    public nonisolated(nonsending) func task(_ task: DownloadTask, shouldDecodeSourceDataOfMIMEType mediaType: String)
        async -> Bool
    { false }

    /// Leaves it a temporary file.
    public nonisolated(nonsending) func task(
        _ task: DownloadTask, decideDestinationWithSuggestedFilename filename: String
    ) async -> DownloadDestination? { nil }

    /// Ignores it.
    public nonisolated(nonsending) func task(_ task: DownloadTask, didCreateDestination path: String) async {}

    /// Ignores it.
    public nonisolated(nonsending) func task(
        _ task: DownloadTask, didWriteData written: Int64, totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64?
    ) async {}

    /// Ignores it.
    public nonisolated(nonsending) func task(_ task: DownloadTask, didFinishDownloadingTo file: DownloadedFile) async {}
}
