import Testing

/// What readers of foreign bytes cost: as much more as there is more to read, and never long.
///
/// Counted is the time that the thread has worked, so what else the machine does is not in it.
@Suite struct LinearTimeTests {
    /// Ten times the input may cost so many times as much; a quadratic reader takes a hundred times.
    private static let margin = 25.0
    /// The lesser size; code that was not optimized has less to read.
    private static var size: Int {
        #if DEBUG
            5_000
        #else
            100_000
        #endif
    }

    /// Below this a difference says nothing.
    private static let floor = 0.02

    // Proves: ERR-7.
    @Test(arguments: HostileInput.all) func `ten times the input costs about ten times as much`(_ input: HostileInput) {
        let (small, large) = (input.bytes(Self.size), input.bytes(10 * Self.size))
        var ratio = Double.infinity
        // A second look, should the first have met a page that was not there.
        for _ in 0..<2 where ratio > Self.margin {
            let least = ThreadTime.seconds { input.target.run(small) }
            let most = ThreadTime.seconds { input.target.run(large) }
            ratio = most / max(least, Self.floor)
        }
        #expect(ratio <= Self.margin, "\(input)")
    }

    // Proves: ERR-7.
    @Test(arguments: HostileInput.all) func `no input takes long`(_ input: HostileInput) {
        let bytes = input.bytes(3 * Self.size)
        let seconds = ThreadTime.seconds { input.target.run(bytes) }
        #expect(seconds <= input.target.allowed, "\(input)")
    }
}
