import FetchEngine
import FetchJobs
import FoundationEssentials
import Glibc

// How many jobs a node runs at once by default.

extension Settings {
    /// The memory of a transfer that waits for its origin, rounded up.
    private static let bytesOfTransfer: Int64 = 64 << 10

    /// The slots for which an eighth of the memory and the descriptors without the reserve have room, up to 4096.
    static func slots(_ descriptors: DescriptorLimits, memory: Int64 = availableMemory()) -> Int {
        let byMemory = Int(memory / 8 / bytesOfTransfer)
        let byDescriptors = descriptors.transfers / 3 * 8 / 9
        return max(16, min(4096, byMemory, byDescriptors))
    }

    /// The memory of the machine, or the part that the control group of the process may have.
    private static func availableMemory() -> Int64 {
        let machine = Int64(sysconf(Int32(_SC_PHYS_PAGES))) * Int64(sysconf(Int32(_SC_PAGESIZE)))
        let limit = try? String(contentsOfFile: "/sys/fs/cgroup/memory.max", encoding: .utf8)
        return min(machine, limit.flatMap { Int64($0.trimmingWhiteSpace) } ?? .max)
    }
}
