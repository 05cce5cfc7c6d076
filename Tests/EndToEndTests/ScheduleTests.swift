import FetchJobs
import Foundation
import Glibc
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// Schedules on several nodes, some of which are killed.
@Suite(.timeLimit(.minutes(2))) struct ScheduleTests {
    private static let settings = ["WORKER_LEASE_SECONDS": "1"]

    private func make(_ schedule: String, on service: ServiceProcess) async throws -> String {
        let made = try await service.request(.post, "/v1/schedules", body: schedule)
        return try #require(member(made.json, "id", as: String.self), "\(made.text)")
    }

    /// The times that jobs were made for.
    private func times(_ place: ServiceProcess.Place) async throws -> [Int64] {
        let rows = try await place.database.client.query(
            "SELECT (extract(epoch FROM (spec ->> 'scheduledAt')::timestamptz) * 1000)::bigint FROM jobs ORDER BY 1")
        return try rows.map { try $0.decode(at: 0) }
    }

    // R7
    @Test func `every second has one job, whichever node lives`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let rules = ["127.0.0.1:\(origin.port)"]
        try await ServiceProcess.Place.with(allowing: rules, settings: Self.settings) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            var second = try await ServiceProcess.start(place.apart, key: key)
            let id = try await make(
                #"{"interval": 1, "missedRuns": "runAll", "job": {"request": "\#(origin.url("/s"))"}}"#, on: first)
            try await until { try await times(place).count >= 2 }
            second.send(SIGKILL)
            _ = try await second.waitForEnd()
            let count = try await times(place).count
            try await until { try await times(place).count >= count + 1 }
            first.send(SIGKILL)
            _ = try await first.waitForEnd()
            let before = try await times(place)

            // Nobody is there for a while: the times that pass are missed.
            let missed = Timestamp(microseconds: try #require(before.last) * 1000).advanced(by: .seconds(2))
            try await until { Timestamp.now > missed }
            second = try await ServiceProcess.start(place, key: key)
            try await until { try await times(place).count >= before.count + 3 }
            let paused = try await second.request(.post, "/v1/schedules/\(id)/pause")
            #expect(member(paused.json, "state") == "paused")

            let made = try await times(place)
            let expected = made.indices.map { made[0] + Int64($0) * 1000 }
            #expect(made == expected)
            try await until {
                let jobs = try await second.request(.get, "/v1/jobs?limit=100&schedule=\(id)").json
                let states = (jobs["data"] as? [[String: Any]] ?? []).compactMap { $0["state"] as? String }
                return states.count == made.count && states.allSatisfy { $0 == "succeeded" }
            }
            #expect(member(paused.json, "runs") == made.count)
            #expect(try await second.stop() == 0, "\(second.logged)")
        }
    }

    @Test func `a short interval is kept without waiting for a heartbeat`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        // A heartbeat comes every twenty seconds.
        let settings = ["WORKER_LEASE_SECONDS": "60"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            _ = try await make(#"{"interval": 1, "job": {"request": "\#(origin.url("/s"))"}}"#, on: service)
            let start = ContinuousClock.now
            try await until { try await times(place).count >= 3 }
            #expect(ContinuousClock.now - start < .seconds(18))
            let made = try await times(place)
            #expect(zip(made, made.dropFirst()).allSatisfy { $1 - $0 == 1000 })
            #expect(try await service.stop() == 0, "\(service.logged)")
        }
    }

    @Test func `a schedule tells that what its job names is gone`() async throws {
        try await ServiceProcess.with(allowing: ["127.0.0.1:9"], settings: Self.settings) { service in
            let session = try await service.request(.post, "/v1/sessions", body: "{}")
            let name = try #require(member(session.json, "id", as: String.self))
            let id = try await make(
                #"{"interval": 1, "job": {"request": "http://127.0.0.1:9/", "session": "\#(name)"}}"#, on: service)
            _ = try await service.request(.post, "/v1/sessions/\(name)/invalidate?mode=cancel")
            try await until {
                let schedule = try await service.request(.get, "/v1/schedules/\(id)").json
                return member(schedule, "lastError", "message") == "/job/session is invalidated"
            }
            let run = try await service.request(.post, "/v1/schedules/\(id)/run")
            #expect(run.status == 409 && member(run.json, "code") == "scheduleNotRunnable", "\(run.text)")
        }
    }
}
