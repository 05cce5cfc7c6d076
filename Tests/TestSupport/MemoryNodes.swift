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
        /// Nil of those whose node is gone.
        var volumes: [Volume: NodeAddress?] = [:]
        var answers: [String: NodeAnswer] = [:]
        var requests: [NodeRequest] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// A node has the job of a tenant from now on.
    package func add(_ owner: NodeAddress, of job: Job.ID, _ tenant: Tenant.ID) {
        state.withLock { $0.owners[JobAddress(tenant: tenant, job: job)] = owner }
    }

    /// A node has a volume from now on; nil for one that is gone.
    package func add(_ node: NodeAddress?, with volume: Volume) {
        state.withLock { $0.volumes[volume] = .some(node) }
    }

    package func node(with volume: Volume) async throws(StoreError) -> NodeAddress? {
        state.withLock { $0.volumes[volume] ?? nil }
    }

    package func isKnown(_ volume: Volume) async throws(StoreError) -> Bool {
        state.withLock { $0.volumes.keys.contains(volume) }
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
