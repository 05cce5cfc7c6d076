import Glibc
import Synchronization

/// The pipe to which signal handlers write their signal; a handler may do little more.
private let signalPipe = Atomic<Int32>(-1)

/// The events that a supervisor waits for: its owner's end, signals, and its child.
final class SupervisorEvents {
    enum Event {
        /// The owner is gone, or has sent a signal to stop.
        case stop
        case childChanged
        case timeout
    }

    private let signals: Int32
    private var isOwnerThere = true

    init() throws(PrivateClusterError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw PrivateClusterError(.startFailed, "No pipe could be made: \(String(cString: strerror(errno))).")
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        signals = ends[0]
        signalPipe.store(ends[1], ordering: .sequentiallyConsistent)
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGCHLD] {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { signal in
                var byte = UInt8(truncatingIfNeeded: signal)
                let before = errno
                write(signalPipe.load(ordering: .sequentiallyConsistent), &byte, 1)
                errno = before
            }
            sigaction(signal, &action, nil)
        }
    }

    /// - Parameter timeout: In milliseconds; negative waits without end.
    func next(timeout: Int32) -> Event {
        var watched = [pollfd(fd: signals, events: Int16(POLLIN), revents: 0)]
        if isOwnerThere { watched.append(pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)) }
        let count = poll(&watched, nfds_t(watched.count), timeout)
        // Interrupted by a signal, which is in the pipe now.
        if count < 0 { return next(timeout: timeout) }
        if count == 0 { return .timeout }
        if watched[0].revents != 0 { return receiveSignal() }
        // The owner writes nothing; the pipe is readable at its end.
        var byte: UInt8 = 0
        if read(STDIN_FILENO, &byte, 1) <= 0 { isOwnerThere = false }
        return isOwnerThere ? .childChanged : .stop
    }

    private func receiveSignal() -> Event {
        var byte: UInt8 = 0
        guard read(signals, &byte, 1) == 1 else { return .childChanged }
        return Int32(byte) == SIGCHLD ? .childChanged : .stop
    }
}
