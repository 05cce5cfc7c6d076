import FetchEngine
import FetchJobs
import FetchRuntime
import TestSupport
import Testing

@testable import FetchWorker

/// One attempt of a download.
@Suite struct DownloadRunTests {
    @Test(.timeLimit(.minutes(2)))
    func `a download that waits for a descriptor for its place ends when it is cancelled or expires`() async throws {
        // The one lock that there is has somebody else.
        let descriptors = DescriptorBudget(limit: 3)
        #expect(descriptors.takeLock())
        let origin = try WireOrigin.answering()
        let fixture = try await WorkerFixture(descriptors: descriptors)
        try await fixture.run {
            let cancelled = try await fixture.submit(origin.url, more: #", "kind": "download""#)
            let time = fixture.clock.date.advanced(by: .seconds(10))
            let expiring = try await fixture.submit(origin.url, more: #", "kind": "download", "expiresAt": "\#(time)""#)
            try await until { fixture.intake.running.count == 2 }
            fixture.intake.cancel(cancelled, .plainly)
            try await fixture.until(cancelled, .cancelled)
            fixture.clock.advance(by: .seconds(11))
            try await fixture.until(expiring, .failed)
            #expect(try await fixture.job(expiring)?.attempts.map(\.errorName) == ["timedOut"])
            try await until { fixture.intake.slots.areEmpty }
        }
    }
}
