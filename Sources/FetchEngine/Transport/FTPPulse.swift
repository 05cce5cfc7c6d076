import EventLoop

/// Drives FTP transfers over TLS until their first byte has come.
///
/// A server answers the handshake of the data connection only after its command has come, but libcurl 7.88 watches
/// nothing but the data connection while that handshake is under way: what the server says on the control connection
/// would be seen only when a timer runs out.
// Everything here is touched on the loop's thread alone.
final class FTPPulse {
    private static let interval: Duration = .milliseconds(20)

    private let loop: EventLoop
    private let drive: () -> Void
    private var transfers: [Transfer] = []
    private var timer: LoopTimer?

    init(loop: EventLoop, drive: @escaping () -> Void) {
        self.loop = loop
        self.drive = drive
        timer = LoopTimer { [weak self] in self?.beat() }
    }

    func add(_ transfer: Transfer) {
        transfers.append(transfer)
        if transfers.count == 1 { arm() }
    }

    private func beat() {
        drive()
        transfers.removeAll { $0.stage == .over || $0.response != nil }
        if !transfers.isEmpty { arm() }
    }

    private func arm() {
        if let timer { loop.set(timer, for: MonotonicTime.now.advanced(by: Self.interval)) }
    }
}
