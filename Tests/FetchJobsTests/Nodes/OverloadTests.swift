import FetchJobs
import Testing

/// When a node takes no new work.
@Suite struct OverloadTests {
    // Proves: REL-9, REL-12.
    @Test(
        arguments: [
            (0.5, 0.5, nil), (0.05, 0.79, nil), (0.049, 0.5, .storageFull), (0.0, 0.85, .storageFull),
            (0.5, 0.8, .memoryLow), (0.5, 0.9, .memoryExhausted), (0.0, 0.95, .memoryExhausted), (nil, nil, nil),
        ] as [(Double?, Double?, Overload?)])
    func `work is refused where the disk or the memory would not hold it`(
        diskFree: Double?, memoryUsed: Double?, expected: Overload?
    ) {
        #expect(Overload(diskFree: diskFree, memoryUsed: memoryUsed) == expected)
    }
}
