import FetchJobs
import FetchStorage
import TestSupport
import Testing

/// The limits that a node has read from PostgreSQL and those of tests keep the same promises.
@Suite struct KnownLimitsContractTests {
    @Test("limits of tests keep the promise", arguments: KnownLimitsContract.clauses)
    func memory(_ clause: Clause<any KnownLimits>) async throws {
        #expect(try await clause.differences(in: EqualLimits()) == [])
    }

    @Test("limits that were read keep the promise", arguments: KnownLimitsContract.clauses)
    func postgres(_ clause: Clause<any KnownLimits>) async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.queue().heartbeat()
            let differences = try await clause.differences(in: fixture.limiters[0])
            #expect(differences == [])
        }
    }
}
