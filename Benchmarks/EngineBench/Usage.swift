import Glibc

extension Usage {
    /// Wall clock and processor time of this process.
    struct Figures {
        let wall: Double
        let user: Double
        let system: Double

        var cpu: Double { user + system }

        static var now: Figures {
            var usage = rusage()
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return Figures(
                wall: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9, user: seconds(usage.ru_utime),
                system: seconds(usage.ru_stime))
        }

        func since(_ start: Figures) -> Figures {
            Figures(wall: wall - start.wall, user: user - start.user, system: system - start.system)
        }

        private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    }
}

/// A number of `/proc/self/status`, or 0.
func status(_ key: String) -> Int {
    guard let file = fopen("/proc/self/status", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, 256, file) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard text.hasPrefix(key + ":") else { continue }
        return text.split { !$0.isNumber }.first.flatMap { Int($0) } ?? 0
    }
    return 0
}

/// A number with few digits behind the point.
func rounded(_ value: Double, _ scale: Double = 10) -> Double { (value * scale).rounded() / scale }

/// Says a line on standard error.
func complain(_ text: String) {
    let line = Array("engine-bench: \(text)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
}
