public import Foundation
import Glibc

/// The arguments of a peer: `CLIENT URL TOTAL CONCURRENCY`.
public struct Run: Sendable {
    public let url: URL
    public let total: Int
    public let concurrency: Int

    /// Ends the process when the arguments are wrong.
    public init() {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let url = URL(string: arguments[1]), let total = Int(arguments[2]),
            let concurrency = Int(arguments[3]), total > 0, concurrency > 0
        else {
            FileHandle.standardError.write(Data("usage: \(arguments[0]) URL TOTAL CONCURRENCY\n".utf8))
            exit(2)
        }
        self.url = url
        self.total = total
        self.concurrency = concurrency
    }

    /// How many fetches each of the workers makes.
    public var shares: [Int] {
        (0..<concurrency).map { total / concurrency + ($0 < total % concurrency ? 1 : 0) }
    }
}

/// Wall clock and processor time of this process.
public struct Spent {
    public let wall: Double
    public let cpu: Double

    public static var now: Spent {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let cpu = [usage.ru_utime, usage.ru_stime].map { Double($0.tv_sec) + Double($0.tv_usec) / 1e6 }
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Spent(wall: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9, cpu: cpu[0] + cpu[1])
    }

    /// Prints the line that the benchmark reads.
    public static func report(_ run: Run, failed: Int, since start: Spent) {
        let end = now
        let rate = Double(run.total) / (end.wall - start.wall)
        let cost = (end.cpu - start.cpu) / Double(run.total) * 1e6
        print("conc=\(run.concurrency) n=\(run.total) failed=\(failed) rate=\(rate) cpu_us=\(cost)")
    }
}
