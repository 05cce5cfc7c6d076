import CCurl
import EventLoop

extension Transfer {
    /// The part of a transfer in the bandwidths that it shares.
    struct Throttles {
        var receiving = Throttle(.receiving)
        var sending = Throttle(.sending)

        /// When to look again; nil while nothing waits.
        var lookAt: MonotonicTime? {
            guard let other = sending.lookAt else { return receiving.lookAt }
            return min(receiving.lookAt ?? other, other)
        }
    }

    /// Whether so much of the response's body may be taken now; otherwise libcurl has to keep it.
    func mayReceive(_ count: Int) -> Bool {
        let bandwidths = bandwidths
        guard !bandwidths.isEmpty else { return true }
        let isAdmitted = throttles.receiving.admit(count, in: bandwidths, at: partition.now)
        if !isAdmitted { partition.sweep.noteDeadline(throttles.lookAt) }
        return isAdmitted
    }

    /// Where the request's body may be read to now; nil when libcurl is to wait.
    func sendable(_ buffer: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer? {
        let bandwidths = bandwidths
        guard !bandwidths.isEmpty else { return buffer }
        let room = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Self.throttledPiece))
        guard throttles.sending.admit(room.count, in: bandwidths, at: partition.now) else {
            partition.sweep.noteDeadline(throttles.lookAt)
            return nil
        }
        return room
    }

    /// Lets libcurl go on in the directions that have their places now.
    func lookAtThrottles(at now: MonotonicTime) {
        var isFree = throttles.receiving.isDue(at: now) && throttles.receiving.look(at: now)
        if throttles.sending.isDue(at: now), throttles.sending.look(at: now) { isFree = true }
        if isFree { applyPauses() }
    }

    /// All bandwidths that bound it at the moment.
    private var bandwidths: [Bandwidth] {
        let shared = bandwidthSource?() ?? []
        return ownBandwidth.map { shared + [$0] } ?? shared
    }

    /// How much is asked for at a time, so that others that share the bandwidth come in between.
    private static var throttledPiece: Int { 16 * 1024 }
}
