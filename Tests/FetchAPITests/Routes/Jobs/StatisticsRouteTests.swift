import FetchJobs
import HTTPTypes
import TestSupport
import Testing

@testable import FetchAPI

@Suite struct StatisticsRouteTests {
    @Test func `jobs are counted by what they are and what they came to`() async throws {
        let server = try await TestServer()
        let tenant = server.key.tenant
        let jobs = try (0..<3).map { _ in NewJob(tenant: tenant, spec: try JobSpec.make()) }
        for job in jobs { _ = try await server.jobs.enqueue([job]) }
        server.jobs.finish(jobs[0].id)
        server.jobs.finish(jobs[1].id, .failed)
        try await server.test { call async throws in
            let answer = try await call(.get, "/v1/stats?hours=2")
            #expect(answer.json?["current"]?["queued"]?.integer == 1)
            #expect(answer.json?["ended"]?["succeeded"]?.integer == 1)
            #expect(answer.json?["ended"]?["failed"]?.integer == 1)
            #expect(answer.json?["hours"]?[0]?["failed"]?.integer == 1)
            for hours in ["0", "169", "x"] {
                #expect(try await call(.get, "/v1/stats?hours=\(hours)").problem == .invalidParameter)
            }
        }
    }
}
