package import FetchJobs
import Synchronization

/// The other nodes of a test, in memory: the second form of ``NodeDirectory`` and ``NodeClient``.
package final class MemoryNodes: NodeDirectory, NodeClient {
    private struct State {
        var owners: [Job.ID: NodeAddress] = [:]
        var answers: [String: NodeAnswer] = [:]
        var requests: [NodeRequest] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// A node has the job from now on.
    package func add(_ owner: NodeAddress, of job: Job.ID) { state.withLock { $0.owners[job] = owner } }

    /// The node at this URL answers from now on, always with the same.
    package func answer(at url: String, with answer: NodeAnswer) { state.withLock { $0.answers[url] = answer } }

    /// What nodes were asked.
    package var requests: [NodeRequest] { state.withLock { $0.requests } }

    package func owner(of job: Job.ID, tenant: Tenant.ID) async throws(StoreError) -> NodeAddress? {
        state.withLock { $0.owners[job] }
    }

    package func send(_ request: NodeRequest, to url: String) async throws -> NodeAnswer {
        let answer = state.withLock { state in
            state.requests.append(request)
            return state.answers[url]
        }
        guard let answer else { throw NodeUnreachable(underlying: CancellationError()) }
        return answer
    }
}
