import FetchEngine
import HTTPTypes
import Synchronization

/// A delegate of downloads that writes down its notifications and questions.
final class DownloadLog: DownloadDelegate {
    struct Answers: Sendable {
        var response: ResponseDisposition = .allow
        var destination: DownloadDestination?
        var decodes: Set<String> = []
        var keepsAt: DownloadDestination?
    }

    let answers: Answers
    private let log = Mutex<[String]>([])

    init(_ answers: Answers = Answers()) { self.answers = answers }

    /// The events so far, in order.
    var events: [String] { log.withLock { $0 } }

    private func note(_ event: String) { log.withLock { $0.append(event) } }

    func task(_ task: SessionTask, didReceive response: Response) async -> ResponseDisposition {
        note("response \(response.status.code)")
        return answers.response
    }

    func task(_ task: SessionTask, didReceive data: [UInt8]) async { note("data") }

    func task(_ task: SessionTask, didBecome download: DownloadTask) async {
        note("became download \(download.state)")
    }

    func task(_ task: DownloadTask, didResumeAtOffset offset: Int64, expectedTotalBytes: Int64?) async {
        note("resumed \(offset) \(expectedTotalBytes.map { "\($0)" } ?? "?")")
    }

    func task(_ task: DownloadTask, shouldDecodeSourceDataOfMIMEType mediaType: String) async -> Bool {
        note("decode \(mediaType)")
        return answers.decodes.contains(mediaType)
    }

    func task(
        _ task: DownloadTask, decideDestinationWithSuggestedFilename filename: String
    ) async -> DownloadDestination? {
        note("destination for \(filename)")
        return answers.destination
    }

    func task(_ task: DownloadTask, didCreateDestination path: String) async {
        note("created \(path.split(separator: "/").last ?? "")")
    }

    func task(
        _ task: DownloadTask, didWriteData written: Int64, totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64?
    ) async { note("wrote \(written) \(totalBytesWritten) \(totalBytesExpectedToWrite.map { "\($0)" } ?? "?")") }

    func task(_ task: DownloadTask, didFinishDownloadingTo file: DownloadedFile) async {
        note("finished \(file.byteCount)")
        if let destination = answers.keepsAt { _ = try? file.move(to: destination) }
    }

    func task(_ task: SessionTask, didFinishCollecting metrics: TaskMetrics) async { note("metrics") }

    func task(_ task: SessionTask, didCompleteWith error: LoadError?) async {
        note("complete \(error?.code.name ?? "well")")
    }
}
