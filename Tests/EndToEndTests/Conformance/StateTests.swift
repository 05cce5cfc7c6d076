import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The states of a job, and the ways between them.
@Suite(.timeLimit(.minutes(2)), .sharedService()) struct StateTests {
    /// What a client asks for, and the place that it asks at.
    private enum Way: String, CaseIterable {
        case suspend, resume, retry, postpone, delete

        func ask(about job: String, _ service: ServiceProcess) async throws -> ServiceProcess.Answer {
            let path = "/v1/jobs/\(job)"
            return switch self {
            case .suspend, .resume, .retry: try await service.request(.post, "\(path)/\(rawValue)")
            case .postpone: try await service.request(.patch, path, body: #"{"runAt": "2999-01-02T00:00:00Z"}"#)
            case .delete: try await service.request(.delete, path)
            }
        }

        /// The table of docs/STATES.md, of what clients do.
        static func open(from state: String) -> Set<Self> {
            switch state {
            case "scheduled", "queued", "suspended": [.suspend, .resume, .postpone]
            case "running", "awaitingDecision": [.suspend, .resume]
            case "succeeded": [.delete]
            default: [.retry, .delete]
            }
        }
    }

    private static let states = [
        "scheduled", "queued", "running", "awaitingDecision", "suspended", "succeeded", "failed", "cancelled",
    ]

    /// A job that is in a state, and stays there until something is asked of it.
    private func job(in state: String, held gate: Gate, _ rig: Rig) async throws -> String {
        let play = rig.stage.serve { _, connection in
            if state == "running" { try gate.wait() }
            if state == "failed" { throw CancellationError() }
            try connection.send(answer())
        }
        let request = #""request": "\#(play.url())""#
        let job: String
        switch state {
        case "scheduled", "cancelled": job = try await rig.submit(#"{\#(request), "runAt": "2999-01-01T00:00:00Z"}"#)
        case "queued": return try await waiting(rig)
        case "suspended": job = try await rig.submit(#"{\#(request), "suspended": true}"#)
        case "awaitingDecision":
            job = try await rig.service.submit(play.url(), asking: #"["didReceiveResponse"]"#)
            _ = try await rig.service.question(of: job)
        default: job = try await rig.submit(#"{\#(request), "configuration": {"retry": {"maximumAttempts": 1}}}"#)
        }
        if state == "cancelled" { _ = try await rig.service.request(.post, "/v1/jobs/\(job)/cancel") }
        if state == "running" { try await until { play.requests.count == 1 } }
        _ = try await rig.service.job(job) { member($0, "state") == state }
        return job
    }

    /// One that waits behind the limiter of its host.
    private func waiting(_ rig: Rig) async throws -> String {
        let path = "/v1/hosts/127.0.0.1:9"
        #expect(try await rig.service.request(.post, "\(path)/pause").status == 200)
        var job = ""
        try await until {
            job = try await rig.submit(#"{"request": "http://127.0.0.1:9/"}"#)
            return member(try await rig.service.request(.get, path).json, "waiting", as: Int.self) ?? 0 > 0
        }
        return try #require(member(try await rig.service.job(job) { member($0, "state") == "queued" }, "id"))
    }

    // A cancellation that comes too late is no mistake of its client's.
    // Proves: TSK-6.
    @Test(arguments: states) func `a way that the table of states has not is refused`(_ state: String) async throws {
        let rig = try SharedService.current
        let gate = Gate()
        defer { gate.open() }
        let job = try await job(in: state, held: gate, rig)
        let closed = Set(Way.allCases).subtracting(Way.open(from: state))
        for way in closed {
            let refused = try await way.ask(about: job, rig.service)
            #expect(refused.status == 409, "\(way): \(refused.text)")
            let code = member(refused.json, "code", as: String.self)
            #expect(
                ["jobFinal", "jobNotFinal", "jobNotRetriable", "jobNotWaiting"].contains(code), "\(way): \(code ?? "-")"
            )
            #expect(member(try await rig.service.request(.get, "/v1/jobs/\(job)").json, "state") == state, "\(way)")
        }
        let cancelled = try await rig.service.request(.post, "/v1/jobs/\(job)/cancel")
        if ["succeeded", "failed", "cancelled"].contains(state) {
            #expect(cancelled.status == 200 && member(cancelled.json, "state") == state, "\(cancelled.text)")
        }
    }

    // Proves: TSK-6.
    @Test(arguments: states) func `a way that the table of states has is open`(_ state: String) async throws {
        let rig = try SharedService.current
        let gate = Gate()
        defer { gate.open() }
        let job = try await job(in: state, held: gate, rig)
        func ask(_ way: Way) async throws {
            let answer = try await way.ask(about: job, rig.service)
            #expect(answer.status < 300, "\(way): \(answer.text)")
        }
        switch state {
        case "succeeded", "failed", "cancelled":
            if state != "succeeded" {
                try await ask(.retry)
                // A job that was to run in a far future runs at once when it is tried again.
                let end = state == "failed" ? "failed" : "succeeded"
                _ = try await rig.service.job(job) { member($0, "state") == end }
            }
            try await ask(.delete)
            #expect(try await rig.service.request(.get, "/v1/jobs/\(job)").status == 404)
        default:
            try await ask(.suspend)
            _ = try await rig.service.job(job) { member($0, "state") == "suspended" }
            if state != "suspended" {
                try await ask(.resume)
                _ = try await rig.service.job(job) { member($0, "state") == state }
            }
            if Way.open(from: state).contains(.postpone) { try await ask(.postpone) }
            _ = try await rig.service.request(.post, "/v1/jobs/\(job)/cancel")
            _ = try await rig.service.job(job) { member($0, "state") == "cancelled" }
        }
    }
}
