import Testing

@testable import Postgres

/// The pauses between attempts to reach a server.
@Suite struct BackoffTests {
    @Test func `pauses double to their maximum and are shortened by a half at most`() {
        var backoff = Backoff(initial: .milliseconds(200), maximum: .seconds(1))
        let bounds: [Duration] = [.milliseconds(200), .milliseconds(400), .milliseconds(800), .seconds(1), .seconds(1)]
        for bound in bounds {
            let pause = backoff.next()
            #expect(pause <= bound && pause >= bound / 2)
        }
        backoff.reset()
        #expect(backoff.next() <= .milliseconds(200))
    }
}
