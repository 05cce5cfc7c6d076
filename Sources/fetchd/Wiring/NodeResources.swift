import FetchJobs
import FetchRuntime
import Glibc
import Synchronization

/// The room that this node has left for new work: on the disk of its data, and in memory.
final class NodeResources: Sendable {
    private struct Look {
        var overload: Overload?
        var at: ContinuousClock.Instant?
    }

    /// How long a look is believed.
    static let lifetime = Duration.seconds(1)

    private let directory: String
    /// How many bytes of memory the process may have; nil when that is unknown.
    let memory = NodeResources.availableMemory()
    private let last = Mutex(Look())

    /// - Parameter directory: Where the node keeps its data.
    init(directory: String) { self.directory = directory }

    /// Why no new work may be taken, as of a second ago at most.
    var overload: Overload? {
        let now = ContinuousClock.now
        return last.withLock { last in
            if let at = last.at, now - at < Self.lifetime { return last.overload }
            last = Look(overload: Overload(diskFree: diskFree, memoryUsed: memoryUsed), at: now)
            return last.overload
        }
    }

    /// Has the metrics tell of the disk.
    func report(to metrics: MetricsRegistry) {
        metrics.observe(.dataDirectoryFree) { [directory] in DiskSpace(of: directory)?.freeBytes }
        metrics.observe(.dataDirectorySize) { [directory] in DiskSpace(of: directory)?.bytes }
    }

    private var diskFree: Double? { DiskSpace(of: directory).map { $0.freeBytes / $0.bytes } }

    private var memoryUsed: Double? {
        guard let memory, let pages = Self.text(of: "/proc/self/statm")?.split(separator: " ").dropFirst().first,
            let resident = Double(pages)
        else { return nil }
        return resident * Double(getpagesize()) / memory
    }

    /// The memory of the machine, or less when the process lives in a group that is limited.
    private static func availableMemory() -> Double? {
        let group = text(of: "/proc/self/cgroup")?.split(separator: "\n").first { $0.hasPrefix("0::/") }
        let limits = [
            group.flatMap { text(of: "/sys/fs/cgroup\($0.dropFirst(3))/memory.max") },
            // In a container the group is the root of the visible tree.
            text(of: "/sys/fs/cgroup/memory.max"), text(of: "/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        ]
        let machine = Double(sysconf(Int32(_SC_PHYS_PAGES))) * Double(getpagesize())
        let bytes = limits.compactMap { $0.flatMap { Double($0.prefix { $0.isNumber }) } }
        return (bytes + [machine]).filter { $0 > 0 }.min()
    }

    /// The beginning of a file that the system makes up as it is read.
    private static func text(of path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            count = max(0, read(file, buffer.baseAddress, buffer.count))
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
}

/// The size of a disk, and what is free of it for users that are not root.
struct DiskSpace {
    let bytes: Double
    let freeBytes: Double

    /// - Parameter path: A file or directory on it.
    /// - Returns: Nil when the system tells nothing.
    init?(of path: String) {
        var status = statvfs()
        guard statvfs(path, &status) == 0, status.f_blocks > 0 else { return nil }
        bytes = Double(status.f_blocks) * Double(status.f_frsize)
        freeBytes = Double(status.f_bavail) * Double(status.f_frsize)
    }
}
