import FetchJobs
import Synchronization

/// The slots of questions at endpoints, and the circuit breaker of each.
///
/// They are apart from those of deliveries, so that no question waits behind one. After ``maximumFailures`` in a row an
/// endpoint is asked one question at a time; the first that it takes closes its circuit.
final class EndpointGate: Sendable {
    /// An endpoint of a tenant: the questions of one tenant do not count for another.
    struct Key: Hashable, Sendable {
        let tenant: Tenant.ID
        let endpoint: WebhookEndpoint.ID
    }

    enum Entry: Sendable {
        /// Ask, and leave when that is done.
        case place
        /// It does not answer, and others find out when it does again.
        case unreachable
    }

    static let maximumFailures = 5

    private struct Waiter {
        let waits: Bool
        let continuation: CheckedContinuation<Entry, Never>
    }

    private struct Endpoint {
        var failures = 0
        var inFlight = 0
        var waiting: [Waiter] = []

        var isBroken: Bool { failures >= EndpointGate.maximumFailures }

        func hasSlot(of slots: Int) -> Bool { inFlight < (isBroken ? 1 : slots) }

        /// Takes a slot for which no other question waits.
        mutating func take(of slots: Int) -> Bool {
            guard waiting.isEmpty, hasSlot(of: slots) else { return false }
            inFlight += 1
            return true
        }

        /// The waiters that have a place now, and those that need not wait for one.
        mutating func next(of slots: Int) -> [(Waiter, Entry)] {
            var next: [(Waiter, Entry)] = []
            while !waiting.isEmpty, hasSlot(of: slots) {
                inFlight += 1
                next.append((waiting.removeFirst(), .place))
            }
            guard isBroken else { return next }
            next += waiting.filter { !$0.waits }.map { ($0, .unreachable) }
            waiting.removeAll { !$0.waits }
            return next
        }
    }

    private let slots: Int
    private let endpoints = Mutex<[Key: Endpoint]>([:])

    /// - Parameter slots: How many questions one endpoint is asked at once.
    init(slots: Int) { self.slots = slots }

    /// Waits for a place.
    ///
    /// - Parameter waits: Whether it waits too while the endpoint does not answer.
    func enter(_ key: Key, waits: Bool) async -> Entry {
        await withCheckedContinuation { continuation in
            let entry = endpoints.withLock { endpoints -> Entry? in
                var endpoint = endpoints[key] ?? Endpoint()
                defer { endpoints[key] = endpoint }
                if endpoint.take(of: slots) { return .place }
                if endpoint.isBroken, !waits { return .unreachable }
                endpoint.waiting.append(Waiter(waits: waits, continuation: continuation))
                return nil
            }
            if let entry { continuation.resume(returning: entry) }
        }
    }

    /// Takes a place, unless the endpoint has none now.
    func enterIfFree(_ key: Key) -> Bool {
        endpoints.withLock { $0[key, default: Endpoint()].take(of: slots) }
    }

    /// Gives a place back.
    ///
    /// - Parameter hasAnswered: Whether the endpoint sent a reply of any kind; nil when it was not asked.
    func leave(_ key: Key, hasAnswered: Bool?) {
        let next = endpoints.withLock { endpoints -> [(Waiter, Entry)] in
            guard var endpoint = endpoints[key] else { return [] }
            endpoint.inFlight -= 1
            switch hasAnswered {
            case true?: endpoint.failures = 0
            case false?: endpoint.failures += 1
            case nil: break
            }
            let next = endpoint.next(of: slots)
            let isForgotten = endpoint.inFlight == 0 && endpoint.waiting.isEmpty && endpoint.failures == 0
            endpoints[key] = isForgotten ? nil : endpoint
            return next
        }
        for (waiter, entry) in next { waiter.continuation.resume(returning: entry) }
    }

    /// Whether an endpoint does not answer: its circuit is open.
    func isBroken(_ key: Key) -> Bool { endpoints.withLock { $0[key]?.isBroken ?? false } }

    /// How many endpoints do not answer.
    var brokenCount: Int { endpoints.withLock { $0.values.count(where: \.isBroken) } }
}
