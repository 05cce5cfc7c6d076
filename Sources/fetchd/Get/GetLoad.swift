import FetchEngine
import FetchJobs
import Glibc
import HTTPTypes
import SystemPackage
import UnixSignals

/// One load of `fetchd get`, from its first byte to the exit code.
struct GetLoad: Sendable {
    let request: Request
    let configuration: SessionConfiguration
    let destination: BodyDestination
    let includesHead: Bool
    let reportsJSON: Bool
    let failsOnStatus: Bool
    /// `nil` draws nothing.
    let progress: ProgressBar.Style?
    /// The most bytes a second, each way; nil for any number.
    var bytesPerSecond: Int64?
    /// What the body has to be; nil for anything.
    var checksum: DigestClaim?
    /// How often it is tried again when it fails in a way that may pass.
    var retries = 0
    /// Says nothing but what was asked for.
    var isSilent = false

    /// The result of the transfer.
    private enum End {
        case delivered(bytes: Int64, path: String?)
        case refusedStatus(Int)
        /// The server is busy; it may say for how long.
        case busy(Int, after: Duration?)
        case cannotResume(Int)
        case isComplete
        case wrongChecksum
        case failed(any Error)
        case signalled(GetExitCode)
    }

    /// Statuses that may be gone with the next try.
    private static let transientStatuses: Set<Int> = [408, 429, 500, 502, 503, 504]
    private static let backoff = RetryPolicy.Backoff(initial: .seconds(1), maximum: .seconds(600), jitter: 0)

    /// Runs the load, again where that may help; tells failures on standard error.
    func run() async -> GetExitCode {
        let session = Session(configuration: configuration)
        var tries = 0
        while true {
            let task = session.dataTask(with: request)
            if let bytesPerSecond { task.maximumBytesPerSecond = bytesPerSecond }
            let startedAt = Timestamp.now
            let end = await firstEnd(of: task, mayRetry: tries < retries)
            guard tries < retries, let wait = wait(after: end, tries: tries) else {
                return await tell(end, of: task, startedAt: startedAt)
            }
            tries += 1
            if let message = message(end), !isSilent {
                printError(
                    "fetchd: " + TerminalText.plain(message)
                        + " Try \(tries) of \(retries) in \(wait.components.seconds) s.")
            }
            if await pause(wait) { return .interrupted }
        }
    }

    /// How long to wait before another try; nil when another one is of no use, or would send bytes twice.
    private func wait(after end: End, tries: Int) -> Duration? {
        switch end {
        case .busy(_, let asked): asked ?? Self.backoff.wait(after: tries, random: 0)
        case .failed(let error as LoadError) where error.code.isTransient && mayBegin:
            Self.backoff.wait(after: tries, random: 0)
        default: nil
        }
    }

    /// What was written may be written again; to standard output it is gone.
    private var mayBegin: Bool { if case .standardOutput = destination { false } else { true } }

    /// - Returns: Whether a signal came first.
    private func pause(_ wait: Duration) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                try? await Task.sleep(for: wait)
                return false
            }
            group.addTask { await signalled() != nil }
            let first = await group.next() ?? false
            group.cancelAll()
            return first
        }
    }

    private func tell(_ end: End, of task: DataTask, startedAt: Timestamp) async -> GetExitCode {
        if let message = message(end), !isSilent { printError("fetchd: " + TerminalText.plain(message)) }
        if case .signalled(let code) = end { return code }
        guard reportsJSON else { return code(end) }
        do {
            try await DescriptorWriter.standardOutput.write(report(end, of: task, startedAt: startedAt))
            return code(end)
        } catch {
            return .cannotWrite
        }
    }

    /// Runs transfer, signal watch and progress side by side; the first two end all three.
    private func firstEnd(of task: DataTask, mayRetry: Bool) async -> End {
        await withTaskGroup(of: End?.self) { group in
            group.addTask { await transfer(task, mayRetry: mayRetry) }
            group.addTask { await signalled() }
            if let progress { group.addTask { await show(task, style: progress) } }
            var end: End?
            while end == nil, let next = await group.next() { end = next }
            group.cancelAll()
            return end ?? .failed(CancellationError())
        }
    }

    private func transfer(_ task: DataTask, mayRetry: Bool) async -> End {
        do {
            let response = try await task.response()
            let status = response.status.code
            if mayRetry, Self.transientStatuses.contains(status) { return .busy(status, after: response.retryAfter()) }
            if case .resumed(let file) = destination {
                switch file.verdict(response) {
                case .append: break
                case .startAnew:
                    if file.bytes > 0, !isSilent { printError("fetchd: The server sends all of it again.") }
                case .isComplete: return .isComplete
                case .refuse: return .cannotResume(status)
                }
            }
            if failsOnStatus, response.status.code >= 400 { return .refusedStatus(response.status.code) }
            return try await deliver(response, of: task)
        } catch {
            return .failed(error)
        }
    }

    /// Moves the body to where it goes.
    private func deliver(_ response: Response, of task: DataTask) async throws -> End {
        var sink = try destination.open(for: response)
        var bytes: Int64 = 0
        var checksum = checksum
        do {
            if case .resumed(let file) = destination, file.verdict(response) == .append, checksum != nil {
                try Self.read(file) { checksum?.update($0) }
            }
            if includesHead { try await sink.write(Array(ResponseHead.text(response).utf8)) }
            for try await chunk in task.body {
                try await sink.write(chunk)
                bytes += Int64(chunk.count)
                checksum?.update(chunk)
            }
            if let checksum, !checksum.isTrue {
                sink.abandon()
                return .wrongChecksum
            }
            try sink.commit()
            return .delivered(bytes: bytes, path: sink.path)
        } catch {
            sink.abandon()
            throw error
        }
    }

    /// What of a file is there already.
    private static func read(_ file: ResumedFile, _ take: ([UInt8]) -> Void) throws {
        let descriptor = try FileDescriptor.open(FilePath(file.path), .readOnly, options: .closeOnExec)
        try descriptor.closeAfter {
            var left = file.bytes
            var chunk = [UInt8](repeating: 0, count: 1 << 20)
            while left > 0 {
                let count = try chunk.withUnsafeMutableBytes { try descriptor.read(into: $0) }
                guard count > 0 else { break }
                take(Array(chunk.prefix(Int(min(left, Int64(count))))))
                left -= Int64(count)
            }
        }
    }

    private func signalled() async -> End? {
        for await signal in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
            // A second signal means that the user does not want to wait for a tidy end.
            Glibc.signal(SIGINT, SIG_DFL)
            Glibc.signal(SIGTERM, SIG_DFL)
            return .signalled(signal == .sigint ? .interrupted : .terminated)
        }
        return nil
    }

    private func show(_ task: DataTask, style: ProgressBar.Style) async -> End? {
        var bar = ProgressBar(style: style)
        let clock = ContinuousClock()
        let start = clock.now
        // The end of the load cancels the sleep.
        while (try? await clock.sleep(for: .milliseconds(200))) != nil {
            let line = bar.line(
                received: task.countOfBytesReceived,
                expected: task.countOfBytesExpectedToReceive,
                time: clock.now - start
            )
            Terminal.draw(line)
        }
        Terminal.erase()
        printError(bar.summary(received: task.countOfBytesReceived, time: clock.now - start))
        return nil
    }

    private func code(_ end: End) -> GetExitCode {
        switch end {
        case .delivered, .isComplete: .success
        case .refusedStatus, .busy: .status
        case .cannotResume(let status): status >= 400 && status != 416 ? .status : .cannotResume
        case .wrongChecksum: .badChecksum
        case .signalled(let code): code
        case .failed(let error as LoadError): GetExitCode(error.code)
        case .failed(is OutputError): .cannotWrite
        case .failed: .failure
        }
    }

    private func message(_ end: End) -> String? {
        switch end {
        case .delivered, .signalled: nil
        case .refusedStatus(let status), .busy(let status, _): "The server answered with status \(status)."
        case .cannotResume(let status):
            "The server does not go on where the file ends; it answered with status \(status)."
        case .isComplete: "The file is complete already."
        case .wrongChecksum: "The body is not the one that --checksum names."
        case .failed(let error as LoadError):
            error.message + (error.failingURL.map { " (\($0.redacted))" } ?? "")
                + (error.underlying.map { " [\($0)]" } ?? "")
        case .failed(let error as OutputError): error.isBrokenPipe ? nil : error.message
        case .failed: "The load failed."
        }
    }

    private func report(_ end: End, of task: DataTask, startedAt: Timestamp) -> [UInt8] {
        var report = GetReport(task: task, startedAt: startedAt)
        switch end {
        case .delivered(let bytes, let path): (report.bodyBytes, report.path) = (bytes, path)
        case .failed(let error): report.error = error as? LoadError
        case .refusedStatus, .busy, .cannotResume, .isComplete, .wrongChecksum, .signalled: break
        }
        return report.json + [UInt8(ascii: "\n")]
    }
}
