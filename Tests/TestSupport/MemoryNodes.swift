package import FetchJobs
import Synchronization

/// The other nodes of a test, in memory: the second form of ``NodeDirectory`` and ``NodeClient``.
package final class MemoryNodes: NodeDirectory, NodeClient {
    private struct JobAddress: Hashable {
        let tenant: Tenant.ID
        let job: Job.ID
    }

    private struct State {
        var owners: [JobAddress: NodeAddress] = [:]
        var answers: [String: NodeAnswer] = [:]
        var requests: [NodeRequest] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// A node has the job of a tenant from now on.
    package func add(_ owner: NodeAddress, of job: Job.ID, _ tenant: Tenant.ID) {
        state.withLock { $0.owners[JobAddress(tenant: tenant, job: job)] = owner }
    }

    /// The node at this URL answers from now on, always with the same.
    package func answer(at url: String, with answer: NodeAnswer) { state.withLock { $0.answers[url] = answer } }

    /// The requests that nodes got.
    package var requests: [NodeRequest] { state.withLock { $0.requests } }

    package func owner(of job: Job.ID, tenant: Tenant.ID) async throws(StoreError) -> NodeAddress? {
        state.withLock { $0.owners[JobAddress(tenant: tenant, job: job)] }
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
