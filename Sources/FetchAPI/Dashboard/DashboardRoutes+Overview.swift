import FetchJobs
import Hummingbird

// The first page.

extension DashboardRoutes {
    private static let failureCount = 10

    var overviewRoutes: [Route] { [page(.get, "/dashboard", overview)] }

    private func overview(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let view = try await view(try query(call), call, session)
        async let figures = ports.figures.figures(of: view.tenant)
        async let sample = ports.figures.sample(of: view.tenant, withFlows: false)
        async let nodes = ports.figures.nodes()
        async let failures = jobs.jobs(of: view.tenant, state: .failed, page: JobPage(limit: Self.failureCount))
        let content = OverviewPage.Content(
            figures: try await figures, sample: try await sample, nodes: try await nodes,
            failures: try await failures.jobs)
        var page = OverviewPage(content, view, frame: frame("Overview", call, session), now: .now)
        page.notice = Self.notice(view)
        page.search = search(call, view, [])
        return self.page(.overview, page)
    }
}
