import FetchJobs
import Testing

@Suite struct FinishedJobsTests {
    @Test func `a wait ends when its job finishes`() async {
        let finished = FinishedJobs()
        let id = Job.ID()
        finished.register(id)
        await withDiscardingTaskGroup { group in
            group.addTask { await finished.wait(for: id) }
            group.addTask { finished.finish([Job.ID(), id]) }
        }
    }

    @Test func `a job that finished before the wait began is not missed`() async {
        let finished = FinishedJobs()
        let id = Job.ID()
        finished.register(id)
        finished.finish([id])
        await finished.wait(for: id)
    }

    @Test func `a cancelled wait ends`() async {
        let finished = FinishedJobs()
        let id = Job.ID()
        finished.register(id)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await finished.wait(for: id) }
            group.cancelAll()
        }
    }
}
