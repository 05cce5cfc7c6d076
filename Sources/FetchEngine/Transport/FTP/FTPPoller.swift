import EventLoop

/// Drives FTP transfers until their response has come.
///
/// libcurl 7.88 watches one of the two connections at a time: over TLS the server answers the handshake of the data
/// connection only after its command has come, and the data of a listing may be there before libcurl watches for it.
/// Bytes on the other connection would be seen only when a timer runs out.
// Everything here is touched on the loop's thread alone.
final class FTPPoller {
    private static let interval: Duration = .milliseconds(20)

    private let loop: EventLoop
    private let drive: () -> Void
    private var transfers: [Transfer] = []
    private var timer: LoopTimer?

    init(loop: EventLoop, drive: @escaping () -> Void) {
        self.loop = loop
        self.drive = drive
        timer = LoopTimer { [weak self] in self?.poll() }
    }

    func add(_ transfer: Transfer) {
        transfers.append(transfer)
        if transfers.count == 1 { arm() }
    }

    private func poll() {
        drive()
        transfers.removeAll { $0.stage == .over || $0.response != nil }
        if !transfers.isEmpty { arm() }
    }

    private func arm() {
        if let timer { loop.set(timer, for: MonotonicTime.now.advanced(by: Self.interval)) }
    }
}
