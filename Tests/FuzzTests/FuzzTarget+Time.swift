import Glibc

// Time as an oracle: an input that takes long on an event loop is as bad as one that traps.
extension FuzzTarget {
    /// An input may cost this much, on a processor of today and with optimization.
    private static let limit = 0.050

    /// How often the target reads its input, one way or another: it may cost as many times as much.
    var readings: Double {
        switch self {
        case .url: 16
        case .keys, .rateLimit: 4
        case .cacheControl, .headerFields: 8
        default: 2
        }
    }

    /// Runs it, and stops the process when it takes longer than any input may.
    func runInTime(_ bytes: [UInt8]) {
        var seconds = ThreadTime.seconds { run(bytes) }
        // Once more: the first time may have been that of a page that was not there.
        if seconds > allowed { seconds = min(seconds, ThreadTime.seconds { run(bytes) }) }
        precondition(seconds <= allowed, "\(self) took \(seconds) s for \(bytes.count) bytes, \(allowed) s are allowed")
    }

    /// The limit as it is in this build, whose code may be checked, counted or not optimized.
    var allowed: Double { Self.limit * readings * Self.slowness }

    /// How many times as long the plainest of readers takes here: a pass over a megabyte, for which a millisecond is
    /// ample.
    private static let slowness: Double = {
        let bytes = [UInt8](repeating: 0x61, count: 1 << 20)
        let seconds = (0..<3).map { _ in
            ThreadTime.seconds {
                var copy: [UInt8] = []
                for byte in bytes where byte != 0x0A { copy.append(byte) }
                precondition(copy.count == bytes.count)
            }
        }
        return max(1, (seconds.min() ?? 0) / 0.001)
    }()
}

/// The time that a thread has worked; the work of others on the machine is not in it.
enum ThreadTime {
    /// How long something works, in seconds.
    static func seconds(_ body: () -> Void) -> Double {
        let start = now
        body()
        return now - start
    }

    private static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
