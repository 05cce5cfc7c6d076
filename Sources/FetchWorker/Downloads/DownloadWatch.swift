import FetchEngine
import FetchJobs
import FetchRuntime
import Synchronization

/// Follows the progress of a download, and says when a checkpoint is due: at the first bytes, then at an interval.
final class DownloadWatch: DownloadDelegate {
    private static let bytesBetween: Int64 = 64 << 20

    let checkpoints = Condition()
    private let live: LiveJob
    private let area: any DownloadArea
    private let answerer: JobChallengeAnswerer?
    private let rule: FetchJobs.Configuration.BecomeDownload?
    private let decisions: JobDecisions?
    /// The formats that are decoded where no answer says otherwise.
    private let decoded: Set<String>
    private let next = Mutex<Int64>(0)
    private let destination = Mutex<(filename: String?, overwrite: Bool)?>(nil)

    /// - Parameter rule: Which responses of a data task make a download of it.
    init(
        live: LiveJob,
        area: any DownloadArea,
        answerer: JobChallengeAnswerer?,
        decisions: JobDecisions?,
        decoded: Set<String>,
        rule: FetchJobs.Configuration.BecomeDownload?
    ) {
        self.live = live
        self.area = area
        self.answerer = answerer
        self.decisions = decisions
        self.decoded = decoded
        self.rule = rule
    }

    /// The file's name by an answer; nil when no answer chose one.
    var chosenDestination: (filename: String?, overwrite: Bool)? { destination.withLock { $0 } }

    func task(_ task: DownloadTask, shouldDecodeSourceDataOfMIMEType mediaType: String) async -> Bool {
        let answer = await decisions?.answer(.decoding(mimeType: mediaType), about: task.currentRequest)
        if case .decode(let isWanted) = answer { return isWanted }
        return decoded.contains(mediaType)
    }

    func task(
        _ task: DownloadTask, decideDestinationWithSuggestedFilename filename: String
    ) async -> DownloadDestination? {
        let subject = Question.Subject.destination(
            suggestedFilename: filename, expectedContentLength: task.countOfBytesExpectedToReceive)
        switch await decisions?.answer(subject, about: task.currentRequest) {
        case .use(let filename, let overwrite): destination.withLock { $0 = (filename, overwrite) }
        case .cancel: task.cancel()
        default: break
        }
        // Where the file lies meanwhile is decided here.
        return nil
    }

    func task(_ task: SessionTask, didReceive response: Response) async -> ResponseDisposition {
        guard let rule, task is DataTask, rule.isMet(by: response) else { return .allow }
        return .becomeDownload
    }

    func task(_ task: SessionTask, canAuthenticateAgainst space: ProtectionSpace) async -> Bool {
        await answerer?.task(task, canAuthenticateAgainst: space) ?? true
    }

    func task(_ task: SessionTask, didReceive challenge: Challenge) async -> Challenge.Disposition {
        await answerer?.task(task, didReceive: challenge) ?? .performDefaultHandling
    }

    func task(_ task: DownloadTask, didResumeAtOffset offset: Int64, expectedTotalBytes: Int64?) async {
        live.note(.resumedAtOffset) { writer in
            writer.member("offset", offset)
            writer.member("bytesExpectedToReceive", expectedTotalBytes)
        }
    }

    func task(
        _ task: DownloadTask,
        didWriteData written: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64?
    ) async {
        #if DEBUG
            CrashPoint.bytesWritten.pass()
        #endif
        if live.body == nil { begin(task) }
        live.grow(to: totalBytesWritten)
        let isDue = next.withLock { next in
            guard totalBytesWritten >= next else { return false }
            next = totalBytesWritten + Self.bytesBetween
            return true
        }
        #if DEBUG
            CrashPoint.bytesCounted.pass()
        #endif
        if isDue { checkpoints.signal() }
    }

    /// From here on the file can be read while it grows.
    private func begin(_ task: DownloadTask) {
        guard let path = task.partialPath, let response = task.response else { return }
        let area = area
        live.begin(LiveBody(response) { () throws(StoreError) in try await area.openGrowing(fileAt: path) })
    }
}

extension JobProgress {
    /// Of a download, whose file may have begun in an earlier attempt.
    init(download task: DownloadTask) {
        self.init(task)
        bytesReceived = task.countOfBytesWritten
        bytesExpectedToReceive = task.checkpoint.map(\.totalCount) ?? task.countOfBytesExpectedToReceive
        resumable = task.resumability.map { Resumable($0) }
    }
}
