import Glibc
import Testing

@testable import FetchEngine

@Suite struct DescriptorLimitsTests {
    @Test(arguments: [512, 1024, 4096, 20_000, 1 << 20])
    func `what is shared out fits into what there is, and leaves the process its own`(total: Int) {
        let limits = DescriptorLimits(total: total)
        #expect(limits.transfers + 2 * limits.serverConnections + 96 <= total)
        #expect(limits.transfers >= total / 2 && limits.serverConnections >= 64)
    }

    @Test func `a process may be given as many descriptors as the system allows it`() {
        DescriptorLimits.raise()
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #expect(limit.rlim_cur == limit.rlim_max)
        #expect(DescriptorLimits.ofProcess.total == Int(clamping: limit.rlim_max))
    }
}
