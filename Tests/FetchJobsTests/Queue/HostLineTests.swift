import FetchJobs
import Testing

/// How many jobs for one origin are under way, and how many a node keeps for it.
@Suite struct HostLineTests {
    private let start = ContinuousClock.now

    @Test func `as many loads are under way as there are connections, and a few more where many end`() {
        var line = HostLine(at: start)
        line.maximum = 4
        #expect(line.limit(ofNodes: 1) == 4)
        for _ in 0..<50 {
            line.begin()
            line.end()
        }
        #expect(line.limit(ofNodes: 1) > 4)
        #expect(line.limit(ofNodes: 2) == 2)
    }

    @Test func `nodes have a part of the connections each, or all where a gate counts`() {
        var line = HostLine(at: start)
        line.maximum = 6
        #expect(line.limit(ofNodes: 3) == 2)
        #expect(line.limit(ofNodes: 9) == 1)
        line.isCounted = true
        #expect(line.limit(ofNodes: 3) == 6)
    }

    @Test func `an origin that multiplexes is asked for more at once than there are connections`() {
        var line = HostLine(at: start)
        line.isMultiplexing = true
        #expect(line.limit(ofNodes: 2) == 100)
    }

    @Test func `what ended within a window counts for the next one too`() {
        var line = HostLine(at: start)
        #expect(line.drain(at: start + .milliseconds(100)) == nil)
        for _ in 0..<40 {
            line.begin()
            line.end()
        }
        #expect(line.drain(at: start + .seconds(1)) == 20)
        #expect(line.drain(at: start + .milliseconds(1500)) == 20)
        #expect(line.drain(at: start + .seconds(2)) == 0)
    }

    @Test func `a line is full until a quarter of it is gone`() {
        var line = HostLine(at: start)
        for _ in 0..<HostLine.capacity { line.add() }
        #expect(line.isFull)
        for _ in 0..<HostLine.capacity / 4 - 1 { line.remove() }
        #expect(line.isFull)
        line.remove()
        #expect(!line.isFull)
    }

    @Test func `while others wait, so many are let in as there are connections, on one node also what is answered`() {
        var line = HostLine(at: start)
        line.maximum = 5
        #expect(line.crowd(drained: 0, nodes: 1) == 5)
        #expect(line.crowd(drained: 100, nodes: 1) == 105)
        #expect(line.crowd(drained: 100, nodes: 2) == 5)
        line.isMultiplexing = true
        #expect(line.crowd(drained: 0, nodes: 2) == 100)
    }
}
