import FetchEngine
import FetchJobs
import Glibc
import HTTPTypes
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

    /// The result of the transfer.
    private enum End {
        case delivered(bytes: Int64, path: String?)
        case refusedStatus(Int)
        case failed(any Error)
        case signalled(GetExitCode)
    }

    /// Runs the load; tells failures on standard error.
    func run() async -> GetExitCode {
        let task = Session(configuration: configuration).dataTask(with: request)
        let startedAt = Timestamp.now
        let end = await firstEnd(of: task)
        if let message = message(end) { printError("fetchd: " + TerminalText.plain(message)) }
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
    private func firstEnd(of task: DataTask) async -> End {
        await withTaskGroup(of: End?.self) { group in
            group.addTask { await transfer(task) }
            group.addTask { await signalled() }
            if let progress { group.addTask { await show(task, style: progress) } }
            var end: End?
            while end == nil, let next = await group.next() { end = next }
            group.cancelAll()
            return end ?? .failed(CancellationError())
        }
    }

    private func transfer(_ task: DataTask) async -> End {
        do {
            let response = try await task.response()
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
        do {
            if includesHead { try await sink.write(Array(ResponseHead.text(response).utf8)) }
            for try await chunk in task.body {
                try await sink.write(chunk)
                bytes += Int64(chunk.count)
            }
            try sink.commit()
            return .delivered(bytes: bytes, path: sink.path)
        } catch {
            sink.abandon()
            throw error
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
        case .delivered: .success
        case .refusedStatus: .status
        case .signalled(let code): code
        case .failed(let error as LoadError): GetExitCode(error.code)
        case .failed(is OutputError): .cannotWrite
        case .failed: .failure
        }
    }

    private func message(_ end: End) -> String? {
        switch end {
        case .delivered, .signalled: nil
        case .refusedStatus(let status): "The server answered with status \(status)."
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
        case .refusedStatus, .signalled: break
        }
        return report.json + [UInt8(ascii: "\n")]
    }
}
