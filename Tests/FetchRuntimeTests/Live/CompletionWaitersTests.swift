import FetchJobs
import FetchRuntime
import Testing

@Suite struct CompletionWaitersTests {
    private let waiters = CompletionWaiters()
    private let id = Job.ID()

    @Test func `each wait ends when its job finishes`() async {
        let waits = [waiters.wait(for: id), waiters.wait(for: id)]
        await withDiscardingTaskGroup { group in
            for wait in waits { group.addTask { await wait.condition.next() } }
            group.addTask { waiters.finish([Job.ID(), id]) }
        }
    }

    @Test func `a job that finished before the caller waits is not missed`() async {
        let wait = waiters.wait(for: id)
        waiters.finish([id])
        await wait.condition.next()
    }

    @Test func `a wait is given the job as it ended, if that is known`() async {
        let other = Job.ID()
        let (known, unknown) = (waiters.wait(for: id), waiters.wait(for: other))
        let spec = RawJSON(Array("{}".utf8))
        let job = Job(id: id, tenant: Tenant.ID(rawValue: 1), state: .succeeded, spec: spec, createdAt: .now)
        waiters.finish([id, other]) { $0 == id ? job : nil }
        await known.condition.next()
        await unknown.condition.next()
        #expect(known.finalJob?.id == id)
        #expect(unknown.finalJob == nil)
    }

    @Test func `a cancelled wait ends`() async {
        let wait = waiters.wait(for: id)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await wait.condition.next() }
            group.cancelAll()
        }
    }

    @Test func `a wait that has ended is told no more, and another of the same job does`() async {
        let (ended, other) = (waiters.wait(for: id), waiters.wait(for: id))
        waiters.end(ended)
        waiters.finish([id])
        await other.condition.next()
        let waiting = Task { await ended.condition.next() }
        waiting.cancel()
        await waiting.value
    }
}
