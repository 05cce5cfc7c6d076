import FetchRuntime
import FoundationEssentials
import Glibc

/// The metrics that every process has by Prometheus' convention, read from `/proc` as the metrics are.
struct ProcessMetrics {
    /// Has the metrics tell of this process, and of the program that it runs.
    ///
    /// - Parameter descriptors: How many files and sockets it may have open.
    static func report(to metrics: MetricsRegistry, descriptors: Int) {
        metrics.observeAll(.buildInfo) { [MetricsRegistry.Observation(labels: [Fetchd.version], value: 1)] }
        metrics.observe(.processCPU) { ProcessMetrics()?.cpuSeconds }
        metrics.observe(.processResidentMemory) { ProcessMetrics()?.residentBytes }
        metrics.observe(.processVirtualMemory) { ProcessMetrics()?.virtualBytes }
        metrics.observe(.processOpenDescriptors) { openDescriptors.map { Double($0) } }
        metrics.observe(.processMaximumDescriptors) { Double(descriptors) }
        let start = ProcessMetrics()?.startedAt
        metrics.observe(.processStart) { start }
    }

    /// The fields after the name of the program, the third of proc(5) first.
    private let fields: [Double]

    /// Nil when the system tells nothing.
    private init?() {
        guard let text = Self.text(of: "/proc/self/stat"), let end = text.lastIndex(of: ")") else { return nil }
        fields = text[text.index(after: end)...].split(separator: " ").map { Double($0) ?? 0 }
        guard fields.count >= 22 else { return nil }
    }

    /// A field by its number in proc(5).
    private func field(_ number: Int) -> Double { fields[number - 3] }

    private static var ticks: Double { Double(sysconf(Int32(_SC_CLK_TCK))) }

    private var cpuSeconds: Double { (field(14) + field(15)) / Self.ticks }
    private var virtualBytes: Double { field(23) }
    private var residentBytes: Double { field(24) * Double(getpagesize()) }

    private var startedAt: Double? {
        let lines = Self.text(of: "/proc/stat")?.split(separator: "\n")
        let boot = lines?.first { $0.hasPrefix("btime ") }.flatMap { Double($0.dropFirst(6)) }
        return boot.map { $0 + field(22) / Self.ticks }
    }

    private static var openDescriptors: Int? {
        // Since Linux 6.2 the directory's size is their number.
        if let count = FileStatus(path: "/proc/self/fd")?.bytes, count > 0 { return Int(count) }
        return (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")).map { max(0, $0.count - 1) }
    }

    private static func text(of path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
}
