import FetchJobs
import FetchRuntime
import Synchronization

/// The streams of events that clients follow.
final class OpenStreams: Sendable {
    /// What is followed.
    enum Kind: Sendable {
        /// One job.
        case job
        /// What is stored of a session or for an endpoint.
        case stored

        /// How many of them a tenant may have open at one node: each looks into the store once in a while.
        var maximum: Int {
            switch self {
            case .job: 1000
            case .stored: 100
            }
        }
    }

    /// A stream that is open.
    ///
    /// It is over with the last reference to it, also when its client left before anything was sent.
    final class Place: Sendable {
        fileprivate let owner: Owner
        private let streams: OpenStreams

        fileprivate init(of owner: Owner, in streams: OpenStreams) {
            (self.owner, self.streams) = (owner, streams)
        }

        deinit { streams.end(owner) }
    }

    fileprivate struct Owner: Hashable {
        let kind: Kind
        let tenant: Tenant.ID
    }

    private let open = Mutex<[Owner: Int]>([:])

    init(_ registry: MetricsRegistry) {
        registry.observe(.eventStreams) { [weak self] in
            Double(self?.open.withLock { $0.values.reduce(0, +) } ?? 0)
        }
    }

    /// Begins a stream.
    ///
    /// - Throws: ``Problem`` `tooManyCalls` when the tenant has as many as it may.
    func begin(_ kind: Kind, of tenant: Tenant.ID) throws(Problem) -> Place {
        let owner = Owner(kind: kind, tenant: tenant)
        let hasRoom = open.withLock { open in
            guard open[owner, default: 0] < kind.maximum else { return false }
            open[owner, default: 0] += 1
            return true
        }
        guard hasRoom else {
            let what = kind == .job ? "streams of jobs' events" : "streams of stored events"
            throw Problem(.tooManyCalls, "A tenant may have \(kind.maximum) \(what) open at a node, and has them.")
                .limited(by: "streams", quota: kind.maximum, retryingAfter: 5)
        }
        return Place(of: owner, in: self)
    }

    private func end(_ owner: Owner) {
        open.withLock { open in
            guard let count = open[owner] else { return }
            open[owner] = count > 1 ? count - 1 : nil
        }
    }
}
