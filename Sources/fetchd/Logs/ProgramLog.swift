import FetchJobs
import Glibc
import Logging
import ServiceLifecycle
import Synchronization

/// The log of this process: one line for each event, as long as equal ones are not too many.
final class ProgramLog: Sendable {
    private let format: LogFormat
    private let hasColor: Bool
    private let limiter = Mutex(LogLimiter())
    private let write: @Sendable ([UInt8]) -> Void
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameters:
    ///   - write: Gets each line, with its end.
    ///   - now: The clock by which equal messages are counted.
    init(
        _ format: LogFormat, hasColor: Bool = false, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        write: @escaping @Sendable ([UInt8]) -> Void
    ) {
        self.format = format
        self.hasColor = hasColor
        self.now = now
        self.write = write
    }

    /// The log on standard error.
    ///
    /// - Parameter format: Nil for the one that suits what standard error is.
    static func standardError(_ format: LogFormat?) -> ProgramLog {
        let isTerminal = isatty(STDERR_FILENO) == 1
        // https://no-color.org: present and not empty.
        let wantsColor = getenv("NO_COLOR").map { $0.pointee == 0 } ?? true
        let output = StandardError()
        return ProgramLog(format ?? .standard(isTerminal: isTerminal), hasColor: isTerminal && wantsColor) {
            output.write($0)
        }
    }

    /// A logger that writes here.
    func logger(_ level: Logger.Level) -> Logger {
        var logger = Logger(label: "fetchd") { _ in Handler(log: self) }
        logger.logLevel = level
        return logger
    }

    /// Writes an event, unless too many like it were written lately.
    ///
    /// Below `notice`, nothing is left out: somebody has asked for each of these lines.
    fileprivate func record(_ level: Logger.Level, _ message: String, _ fields: [(name: String, value: String)]) {
        let now = now()
        guard level < .notice || limiter.withLock({ $0.admits(level, message, now: now) }) else { return }
        write(LogLine(time: .now, level: level, message: message, fields: fields).bytes(format, hasColor: hasColor))
    }

    /// Writes how many lines were left out.
    ///
    /// - Parameter isLast: Whether this is the last time.
    func tellSuppressed(isLast: Bool = false) {
        let now = now()
        for suppressed in limiter.withLock({ $0.takeSuppressed(now: now, isLast: isLast) }) {
            let fields = [
                (name: "log.suppressed", value: "\(suppressed.count)"),
                (name: "log.message", value: suppressed.key.message.isEmpty ? "others" : suppressed.key.message),
            ]
            let line = LogLine(
                time: .now, level: suppressed.key.level, message: "equal lines left out", fields: fields)
            write(line.bytes(format, hasColor: hasColor))
        }
    }

    private struct Handler: LogHandler {
        let log: ProgramLog
        var metadata = Logger.Metadata()
        var metadataProvider: Logger.MetadataProvider?
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            var all = metadata
            if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
            if let own = event.metadata { all.merge(own) { $1 } }
            var fields = all.sorted { $0.key < $1.key }
                .map { (name: $0.key, value: LogText.withoutSecretsOfURLs("\($0.value)")) }
            if let error = event.error {
                fields.append((name: "error", value: LogText.withoutSecretsOfURLs("\(error)")))
            }
            log.record(event.level, "\(event.message)", fields)
        }
    }
}

/// Standard error, line by line.
private final class StandardError: Sendable {
    /// Whether the last line has no end: there was no room for it.
    private let isTorn = Atomic(false)

    func write(_ line: [UInt8]) {
        let bytes = isTorn.load(ordering: .relaxed) ? [UInt8(ascii: "\n")] + line : line
        var position = 0
        while position < bytes.count {
            let count = bytes[position...].withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
            // A failure to log cannot be logged.
            guard count >= 0 || errno == EINTR else {
                if position > 0 { isTorn.store(true, ordering: .relaxed) }
                return
            }
            position += max(0, count)
        }
        isTorn.store(false, ordering: .relaxed)
    }
}

/// Tells now and then how many equal lines the log has left out, and at the end for the last time.
struct SuppressedLines: Service {
    private static let interval = Duration.seconds(5)

    let log: ProgramLog

    func run() async throws {
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            await cancelWhenGracefulShutdown { try? await Task.sleep(for: Self.interval) }
            log.tellSuppressed()
        }
        log.tellSuppressed(isLast: true)
    }
}
