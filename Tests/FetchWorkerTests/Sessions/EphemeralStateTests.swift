import FetchEngine
import FetchJobs
import FetchRuntime
import TestSupport
import Testing

@testable import FetchWorker

/// What tenants are charged with for their ephemeral sessions.
@Suite struct EphemeralStateTests {
    private static let mebibyte = 1 << 20

    private func state(bytes: Int = 512 << 20) -> EphemeralState {
        var configuration = EphemeralSessions.Configuration()
        configuration.maximumBytes = bytes
        return EphemeralState(configuration)
    }

    private func add(_ state: inout EphemeralState, of tenant: Tenant.ID = .first) throws -> SessionAddress {
        let session = TenantSession(
            id: TenantSession.ID(), tenant: tenant, spec: SessionSpec(kind: .ephemeral), createdAt: .now)
        let address = SessionAddress(tenant: tenant, session: session.id)
        let missing = state.takePlace(for: session.spec, of: tenant)
        #expect(missing == nil)
        state.add(
            EphemeralSession(
                session: session, engine: Session(configuration: .ephemeral), cache: nil,
                questions: EphemeralQuestions()),
            at: address)
        return address
    }

    private func job(of tenant: Tenant.ID = .first) throws -> NewJob { NewJob(tenant: tenant, spec: try .make()) }

    private func add(_ job: NewJob, to address: SessionAddress, in state: inout EphemeralState) throws {
        let enqueued = state.add(EphemeralSession.Entry(job), to: address)
        try #require(enqueued == .accepted(job.id))
    }

    /// Adds a job that has ended with a body of so many bytes.
    private func end(_ state: inout EphemeralState, _ bytes: Int, in address: SessionAddress) throws -> Job.ID {
        let job = try job(of: address.tenant)
        try add(job, to: address, in: &state)
        let body = JobOutcome.Body.inline([UInt8](repeating: 0, count: bytes))
        state.change(address) { $0.finish(job.id, .make(body: body)) }
        return job.id
    }

    @Test func `specs are charged twice while a job runs and once when it has ended, and come back with it`() throws {
        var state = state()
        let address = try add(&state)
        let empty = state.bytes.part(of: .first)
        let job = try job()
        let entry = EphemeralSession.Entry(job)
        let spec = entry.job.spec.bytes.count
        let enqueued = state.add(entry, to: address)
        #expect(enqueued == .accepted(job.id))
        #expect(state.bytes.part(of: .first) >= empty + 2 * spec + Blob.inlineLimit)
        #expect(state.jobs.part(of: .first) == 1)
        let running = state.bytes.part(of: .first)
        let isTaken = state.take(Self.mebibyte, for: job.id)
        #expect(isTaken && state.bytes.part(of: .first) == running + Self.mebibyte)
        state.change(address) { $0.schedule(job.id, after: .make(.failed), at: .now) }
        #expect(state.bytes.part(of: .first) < running + Self.mebibyte / 2)
        let isTakenAgain = state.take(Self.mebibyte, for: job.id)
        #expect(isTakenAgain)
        state.change(address) { $0.finish(job.id, .make(.cancelled)) }
        let final = state.bytes.part(of: .first)
        #expect(final > empty + spec && final < running)
        #expect(state.jobs.part(of: .first) == 0)
        #expect(state.sessions[address]?.jobs[job.id]?.claimed == nil)
        state.change(address) { $0.remove(job.id) }
        #expect(state.bytes.part(of: .first) == empty && state.owner(of: job.id) == nil)
        state.remove(address)
        #expect(state.bytes.part(of: .first) == 0)
    }

    @Test func `the oldest final jobs of the tenant make room for a body, unless that is no use`() throws {
        var state = state(bytes: 16 * Self.mebibyte)
        let (older, newer) = (try add(&state), try add(&state))
        let other = try add(&state, of: .second)
        let kept = try end(&state, Self.mebibyte, in: other)
        let first = try end(&state, 2 * Self.mebibyte, in: older)
        let second = try end(&state, 2 * Self.mebibyte, in: older)
        let third = try end(&state, Self.mebibyte, in: newer)
        let running = try job()
        try add(running, to: newer, in: &state)
        // Half of what the other one leaves is 7.5 MiB.
        let isTooMuch = !state.take(8 * Self.mebibyte, for: running.id)
        #expect(isTooMuch && [first, second, third].allSatisfy { state.owner(of: $0) != nil })
        let isTaken = state.take(3 * Self.mebibyte, for: running.id)
        #expect(isTaken && state.owner(of: first) == nil)
        #expect([second, third, kept].allSatisfy { state.owner(of: $0) != nil })
    }

    @Test func `a job that there is no room for is refused, and another tenant's is not`() throws {
        var state = state(bytes: Self.mebibyte)
        let (address, other) = (try add(&state), try add(&state, of: .second))
        var refused: Enqueued?
        var accepted: [Job.ID] = []
        while refused == nil {
            let job = try job()
            switch state.add(EphemeralSession.Entry(job), to: address) {
            case .accepted(let id): accepted.append(id)
            case let answer: refused = answer
            }
        }
        #expect(refused == .noRoom(.bytes(Self.mebibyte)) && !accepted.isEmpty)
        let theirs = try job(of: .second)
        try add(theirs, to: other, in: &state)
        // Two that have ended leave room for one.
        for id in accepted.suffix(2) { state.change(address) { $0.finish(id, .make(.failed)) } }
        let next = try job()
        try add(next, to: address, in: &state)
    }

    @Test func `jobs that a session forgets are not found by their ids any more`() throws {
        var state = state()
        let address = try add(&state)
        let jobs = try (0...EphemeralSession.maximumJobs).map { _ in try end(&state, 0, in: address) }
        #expect(state.owner(of: jobs[0]) == nil && state.owner(of: jobs[1]) == address)
        #expect(state.sessions[address]?.jobs.count == EphemeralSession.maximumJobs)
    }
}
