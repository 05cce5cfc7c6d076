/// Makes the jobs of schedules: one for each of their times, or one for each URL of a URL group.
package struct ScheduledJobs: Sendable {
    private let groups: any URLGroupStore
    private let address: @Sendable (inout JobSpec, URLGroup.Endpoint) -> Void

    /// - Parameter address: Says to a job to which URL of its group it goes, in the words of who made the schedule.
    package init(
        groups: any URLGroupStore, address: @escaping @Sendable (inout JobSpec, URLGroup.Endpoint) -> Void
    ) {
        self.groups = groups
        self.address = address
    }

    /// Why no job of a schedule can be made, in a sentence that begins with the member of the schedule.
    package struct Obstacle: Error, Equatable {
        package let message: String
    }

    /// Makes the jobs of a schedule for some of its times.
    ///
    /// - Parameter trace: Makes the trace that a job is in; nil for none.
    package func jobs(
        of schedule: Schedule, at times: [Timestamp], in trace: () -> TraceContext?
    ) async throws(StoreError) -> Result<[NewJob], Obstacle> {
        guard let name = schedule.spec.urlGroup, !times.isEmpty else {
            return .success(times.map { schedule.job(at: $0, in: trace()) })
        }
        guard let group = try await groups.urlGroup(name, of: schedule.tenant) else {
            return .failure(Obstacle(message: "/urlGroup \(ScheduleSpec.noURLGroup)"))
        }
        var jobs: [NewJob] = []
        for time in times {
            for endpoint in group.endpoints {
                guard let url = endpoint.target else {
                    return .failure(Obstacle(message: "/urlGroup has a URL that jobs may not have"))
                }
                var spec = schedule.job(at: time, in: trace()).spec
                spec.request.url = url
                address(&spec, endpoint)
                jobs.append(NewJob(tenant: schedule.tenant, spec: spec))
            }
        }
        return .success(jobs)
    }
}
