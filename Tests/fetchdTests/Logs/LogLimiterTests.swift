import Foundation
import Logging
import Synchronization
import Testing

@testable import fetchd

/// Equal lines of the log.
@Suite struct LogLimiterTests {
    private let start = ContinuousClock.now

    /// The lines of a log, and its clock.
    private final class Scene: Sendable {
        private let written = Mutex<[String]>([])
        private let time = Mutex(ContinuousClock.now)

        var lines: [String] { written.withLock { $0 } }
        func advance(by duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }

        func log(_ format: LogFormat) -> ProgramLog {
            ProgramLog(format, now: { self.time.withLock { $0 } }) { line in
                self.written.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
            }
        }
    }

    @Test func `ten thousand equal failures are few lines, and their number is told`() throws {
        let scene = Scene()
        let log = scene.log(.json)
        let logger = log.logger(.notice)
        for number in 0..<10_000 {
            logger.notice("job finished", metadata: ["job.id": "\(number)"])
        }
        logger.warning("job finished")
        logger.notice("listening")
        #expect(scene.lines.count == LogLimiter.burst + 2)
        log.tellSuppressed()
        #expect(scene.lines.count == LogLimiter.burst + 2)
        scene.advance(by: LogLimiter.window)
        log.tellSuppressed()
        log.tellSuppressed()
        #expect(scene.lines.count == LogLimiter.burst + 3)
        let told = try #require(
            try JSONSerialization.jsonObject(with: Data((scene.lines.last ?? "").utf8)) as? [String: String])
        #expect(told["msg"] == "equal lines left out" && told["level"] == "notice")
        #expect(told["log.suppressed"] == "\(10_000 - LogLimiter.burst)" && told["log.message"] == "job finished")
        // The next ones are written again.
        logger.notice("job finished")
        #expect(scene.lines.count == LogLimiter.burst + 4)
    }

    @Test func `what somebody asked for by a lower level is all there`() {
        let scene = Scene()
        let logger = scene.log(.logfmt).logger(.info)
        for _ in 0..<1000 { logger.info("job finished") }
        for _ in 0..<1000 { logger.debug("job finished") }
        #expect(scene.lines.count == 1000)
    }

    @Test func `many different messages take bounded memory, and all that is left out is counted`() {
        var limiter = LogLimiter()
        var admitted = 0
        for number in 0..<10_000 where limiter.admits(.error, "message \(number)", now: start) { admitted += 1 }
        #expect(admitted == LogLimiter.capacity + LogLimiter.burst)
        let told = limiter.takeSuppressed(now: start, isLast: true)
        #expect(told == [.init(key: .init(level: .error, message: ""), count: 10_000 - admitted)])
        #expect(limiter.takeSuppressed(now: start, isLast: true).isEmpty)
    }

    @Test func `fields of the logger and of the event are one line, without secrets of URLs`() {
        let scene = Scene()
        var logger = scene.log(.logfmt).logger(.notice)
        logger[metadataKey: "node.id"] = "n1"
        logger.error("a request failed", metadata: ["error": "https://u:sesame@h/p?sesame: refused", "node.id": "n2"])
        #expect(scene.lines.count == 1)
        #expect(
            scene.lines[0].hasSuffix(
                #" level=error msg="a request failed" error="https://h/p refused" node.id=n2"# + "\n"))
    }
}
