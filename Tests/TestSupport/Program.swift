import Foundation
import Glibc
import Synchronization

/// A program running beside the tests.
///
/// Foundation's `Process` needs a run loop to see that its child has ended and spins without one; here a thread waits.
package final class Program: Sendable {
    package struct CannotStart: Error {
        package let path: String
        package let code: Int32
    }

    package struct Failed: Error, CustomStringConvertible {
        package let description: String
    }

    /// Runs a program to its end, and throws its output when the status is not 0.
    package static func run(_ command: [String], environment: [String: String]? = nil) async throws {
        let program = try Program(command, environment: environment, readsErrors: true)
        let (errors, status) = try await onThread { (program.errors(), program.waitForEnd()) }
        guard status == 0 else { throw Failed(description: "\(command.joined(separator: " ")): \(errors)") }
    }

    /// Its number, as long as it runs.
    package let pid: Int32
    private let standardError: Int32?
    private let standardOutput: Int32?
    private let standardInput: Int32?
    private let status = Mutex<Int32?>(nil)

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - holdsInput: Whether its input stays open and empty as long as this object lives; else it has none.
    ///   - readsOutput: Whether ``output()`` is going to be asked for; else output goes nowhere.
    ///   - readsErrors: The same for standard error, read with ``nextErrors()``.
    package init(
        _ command: [String],
        environment: [String: String]? = nil,
        holdsInput: Bool = false,
        readsOutput: Bool = false,
        readsErrors: Bool = false
    ) throws {
        let input = holdsInput ? Self.pipe() : nil
        let output = readsOutput ? Self.pipe() : nil
        let errors = readsErrors ? Self.pipe() : nil
        standardInput = input?.write
        standardOutput = output?.read
        standardError = errors?.read
        let ends = [input?.read, output?.write, errors?.write]
        defer { for end in ends { if let end { close(end) } } }
        pid = try Self.start(command, environment, ends)
    }

    /// - Parameter ends: The descriptors of its input, output and errors; nil is nothing.
    private static func start(
        _ command: [String], _ environment: [String: String]?, _ ends: [Int32?]
    ) throws -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (descriptor, end) in zip(Int32(0)..., ends) {
            if let end {
                posix_spawn_file_actions_adddup2(&actions, end, descriptor)
            } else {
                posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
            }
        }
        // It gets nothing else of ours: a browser's helper that outlives its test would keep any pipe open for ever.
        _ = Self.closeFrom?(&actions, 3)
        // The threads that tests run on block signals, and a child inherits that: it would not hear SIGTERM.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var arguments = command.map { strdup($0) } + [nil]
        var variables = (environment ?? ProcessInfo.processInfo.environment).map { strdup("\($0)=\($1)") } + [nil]
        defer { (arguments + variables).forEach { free($0) } }
        var pid: pid_t = 0
        let code = posix_spawn(&pid, command[0], &actions, &attributes, &arguments, &variables)
        guard code == 0 else { throw CannotStart(path: command[0], code: code) }
        return pid
    }

    deinit {
        for descriptor in [standardInput, standardOutput, standardError] { if let descriptor { close(descriptor) } }
    }

    package func send(_ signal: Int32) { kill(pid, signal) }

    /// How much memory it has, in bytes (proc(5), `VmRSS`); nil when it is gone.
    package var residentBytes: Int? { bytes("VmRSS") }

    /// The most that it had since ``forgetPeakOfMemory()`` (`VmHWM`).
    package var peakOfMemory: Int? { bytes("VmHWM") }

    /// Begins to look for the most memory anew (proc(5), `clear_refs`).
    package func forgetPeakOfMemory() throws {
        try Data("5".utf8).write(to: URL(filePath: "/proc/\(pid)/clear_refs"))
    }

    /// How long processors have worked for it (proc(5), `stat`); nil when it is gone.
    package var processorTime: Duration? {
        let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        // Its name, in front of the last parenthesis, may have any characters.
        guard let rest = text?.split(separator: ")").last?.split(separator: " "), rest.count > 12,
            let user = Int(rest[11]), let system = Int(rest[12])
        else { return nil }
        return .seconds(Double(user + system) / Double(sysconf(Int32(_SC_CLK_TCK))))
    }

    private func bytes(_ name: String) -> Int? {
        let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("\(name):") }
        return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 }
    }

    /// The next piece of standard output, empty at its end; blocks.
    package func nextOutput() -> String { standardOutput.map { Self.read($0) } ?? "" }

    /// The next piece of standard error, empty at its end; blocks.
    package func nextErrors() -> String { standardError.map { Self.read($0) } ?? "" }

    /// All of standard output; blocks until the program closes it.
    package func output() -> String {
        var text = ""
        while let piece = standardOutput.map({ Self.read($0) }), !piece.isEmpty { text += piece }
        return text
    }

    /// Whether it is over already.
    package var hasEnded: Bool {
        status.withLock { status in
            var raw: Int32 = 0
            if status == nil, waitpid(pid, &raw, WNOHANG) == pid { status = Self.ending(raw) }
            return status != nil
        }
    }

    /// All of the rest of standard error; blocks until the program closes it.
    package func errors() -> String {
        var text = ""
        while case let piece = nextErrors(), !piece.isEmpty { text += piece }
        return text
    }

    /// Waits for the end; blocks.
    ///
    /// - Returns: The exit status, or minus the number of the signal that ended it.
    package func waitForEnd() -> Int32 {
        status.withLock { status in
            if let status { return status }
            var raw: Int32 = 0
            while waitpid(pid, &raw, 0) < 0, errno == EINTR {}
            let ended = Self.ending(raw)
            status = ended
            return ended
        }
    }

    private static func ending(_ raw: Int32) -> Int32 { raw & 0x7F == 0 ? raw >> 8 & 0xFF : -(raw & 0x7F) }

    /// `posix_spawn_file_actions_addclosefrom_np`, which Swift's view of glibc leaves out.
    private static let closeFrom: CloseFrom? =
        dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map { unsafeBitCast($0, to: CloseFrom.self) }
    private typealias CloseFrom =
        @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32

    private static func pipe() -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        precondition(Glibc.pipe(&ends) == 0, "no descriptor is left for a pipe")
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func read(_ descriptor: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
}

/// Runs blocking work on a thread of its own: the tests' tasks share a few.
package func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        startThread { continuation.resume(with: Result { try body() }) }
    }
}
