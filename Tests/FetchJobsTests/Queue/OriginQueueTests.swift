import FetchJobs
import Testing

/// How many jobs for one origin are under way, and how many a node keeps for it.
@Suite struct OriginQueueTests {
    private let start = ContinuousClock.now

    @Test func `as many loads are under way as there are connections, and a few more where many end`() {
        var queue = OriginQueue(at: start)
        queue.maximum = 4
        #expect(queue.limit(ofNodes: 1) == 4)
        for _ in 0..<50 {
            queue.begin()
            queue.end()
        }
        #expect(queue.limit(ofNodes: 1) > 4)
        #expect(queue.limit(ofNodes: 2) == 2)
    }

    @Test func `nodes have a part of the connections each, or all where a gate counts`() {
        var queue = OriginQueue(at: start)
        queue.maximum = 6
        #expect(queue.limit(ofNodes: 3) == 2)
        #expect(queue.limit(ofNodes: 9) == 1)
        queue.isCounted = true
        #expect(queue.limit(ofNodes: 3) == 6)
    }

    @Test func `an origin that multiplexes is asked for more at once than there are connections`() {
        var queue = OriginQueue(at: start)
        queue.isMultiplexing = true
        #expect(queue.limit(ofNodes: 2) == 100)
    }

    @Test func `what ended within a window counts for the next one too`() {
        var queue = OriginQueue(at: start)
        #expect(queue.drain(at: start + .milliseconds(100)) == nil)
        for _ in 0..<40 {
            queue.begin()
            queue.end()
        }
        #expect(queue.drain(at: start + .seconds(1)) == 20)
        #expect(queue.drain(at: start + .milliseconds(1500)) == 20)
        #expect(queue.drain(at: start + .seconds(2)) == 0)
    }

    @Test func `a queue is full until a quarter of it is gone`() {
        var queue = OriginQueue(at: start)
        for _ in 0..<OriginQueue.capacity { queue.add() }
        #expect(queue.isFull)
        for _ in 0..<OriginQueue.capacity / 4 - 1 { queue.remove() }
        #expect(queue.isFull)
        queue.remove()
        #expect(!queue.isFull)
    }

    @Test func `as many connections as there are have loads, be there more of them than a queue takes at first`() {
        var queue = OriginQueue(at: start)
        for _ in 0..<OriginQueue.capacity { queue.add() }
        #expect(queue.isFull)
        queue.maximum = 1000
        #expect(!queue.isFull)
        for _ in OriginQueue.capacity..<1000 + OriginQueue.capacity / 4 - 1 { queue.add() }
        #expect(!queue.isFull)
        queue.add()
        #expect(queue.isFull)
        for _ in 1...OriginQueue.capacity / 4 { queue.remove() }
        #expect(!queue.isFull && queue.count == 1000)
    }

    @Test func `while others wait, so many are let in as there are connections, on one node also what is answered`() {
        var queue = OriginQueue(at: start)
        queue.maximum = 5
        #expect(queue.crowd(drained: 0, nodes: 1) == 5)
        #expect(queue.crowd(drained: 100, nodes: 1) == 105)
        #expect(queue.crowd(drained: 100, nodes: 2) == 5)
        queue.isMultiplexing = true
        #expect(queue.crowd(drained: 0, nodes: 2) == 100)
    }
}
