import FetchJobs
import Synchronization
import TestSupport
import Testing

@testable import FetchWorker

/// How many have got a place.
private final class Entries: Sendable {
    private let entries = Atomic<Int>(0)

    var count: Int { entries.load(ordering: .relaxed) }

    func add() { entries.add(1, ordering: .relaxed) }
}

/// The places of questions at an endpoint.
@Suite struct EndpointGateTests {
    private let endpoint = EndpointGate.Key(tenant: .first, endpoint: WebhookEndpoint.ID())

    private func fail(_ gate: EndpointGate, times: Int) async {
        for _ in 0..<times {
            _ = await gate.enter(endpoint, waits: true)
            gate.leave(endpoint, hasAnswered: false)
        }
    }

    @Test func `as many as there are places are asked at once, and the next waits`() async throws {
        let gate = EndpointGate(slots: 2)
        for _ in 0..<2 { #expect(await gate.enter(endpoint, waits: false) == .place) }
        let entries = Entries()
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { [endpoint] in
                #expect(await gate.enter(endpoint, waits: false) == .place)
                entries.add()
            }
            let others = [
                EndpointGate.Key(tenant: .first, endpoint: WebhookEndpoint.ID()),
                EndpointGate.Key(tenant: .second, endpoint: endpoint.endpoint),
            ]
            for other in others { #expect(await gate.enter(other, waits: false) == .place, "another one has its own") }
            #expect(entries.count == 0)
            gate.leave(endpoint, hasAnswered: true)
            try await until { entries.count == 1 }
        }
    }

    @Test func `after five failures in a row one is asked at a time, and who need not wait does not`() async {
        let gate = EndpointGate(slots: 64)
        await fail(gate, times: 4)
        #expect(gate.brokenCount == 0)
        await fail(gate, times: 1)
        #expect(gate.brokenCount == 1)
        #expect(await gate.enter(endpoint, waits: true) == .place)
        #expect(await gate.enter(endpoint, waits: false) == .unreachable)
    }

    @Test func `the first that an endpoint takes lets the others go`() async throws {
        let gate = EndpointGate(slots: 8)
        await fail(gate, times: 5)
        _ = await gate.enter(endpoint, waits: true)
        let entries = Entries()
        try await withThrowingDiscardingTaskGroup { group in
            for _ in 0..<6 {
                group.addTask { [endpoint] in
                    #expect(await gate.enter(endpoint, waits: true) == .place)
                    entries.add()
                }
            }
            gate.leave(endpoint, hasAnswered: true)
            try await until { entries.count == 6 }
        }
        #expect(gate.brokenCount == 0)
    }

    @Test func `an endpoint that was not asked is neither better nor worse`() async {
        let gate = EndpointGate(slots: 8)
        await fail(gate, times: 5)
        _ = await gate.enter(endpoint, waits: true)
        gate.leave(endpoint, hasAnswered: nil)
        #expect(gate.brokenCount == 1)
    }
}
