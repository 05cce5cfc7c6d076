import FetchJobs
import FetchRuntime
import TestSupport
import Testing

@testable import FetchWorker

/// How old the oldest job is, as a node saw it last.
@Suite struct QueueAgeTests {
    private let clock = ManualClock()

    @Test func `the age of the oldest job grows while nobody looks`() {
        let age = QueueAge(clock: clock.clock)
        #expect(age.seconds == 0)
        age.note(.seconds(30), since: clock.now)
        clock.advance(by: .seconds(5))
        #expect(age.seconds == 35)
        age.note(nil, since: clock.now)
        #expect(age.seconds == 0)
    }

    @Test func `it is looked at again when the last look is old enough, and later when a look takes long`() {
        let age = QueueAge(clock: clock.clock)
        #expect(age.isOlder(than: .seconds(5)))
        age.note(.seconds(1), since: clock.now)
        #expect(!age.isOlder(than: .seconds(5)))
        clock.advance(by: .seconds(5))
        #expect(age.isOlder(than: .seconds(5)))
        let start = clock.now
        clock.advance(by: .seconds(10))
        age.note(.seconds(1), since: start)
        clock.advance(by: .seconds(5))
        #expect(!age.isOlder(than: .seconds(5)))
    }
}
