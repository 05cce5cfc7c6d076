import FetchEngine
import FetchJobs
import Foundation
import Glibc
import HTTPTypes
import Postgres
import Synchronization
import TestSupport
import Testing

/// A service whose database moves, hangs, or is away: two real servers with replication.
@Suite(.timeLimit(.minutes(3))) struct FailoverTests {
    enum Fault: String, CaseIterable {
        case kill, stop, handover
    }

    /// The jobs that were accepted, and whether no more are submitted.
    private final class Calls: Sendable {
        let accepted = Mutex<[String]>([])
        let isOver = Mutex(false)
    }

    /// Runs a test over a service whose database is a pair of servers.
    ///
    /// - Parameter url: The connection string for the pair.
    private func with(
        _ pair: PostgresPair, _ url: String, allowing rules: [String] = [], settings: [String: String] = [:],
        _ body: (ServiceProcess) async throws -> Void
    ) async throws {
        let settings = settings.merging(["DATABASE_URL": url]) { $1 }
        try await ServiceProcess.Place.with(allowing: rules, settings: settings) { place in
            let key = try await place.run("keys", "generate")
            var environment = place.environment
            environment["FETCHD_BOOTSTRAP_KEY"] = key
            let place = ServiceProcess.Place(
                database: place.database, directory: place.directory, environment: environment)
            let service = try await ServiceProcess.start(place, key: key)
            do { try await body(service) } catch {
                service.send(SIGKILL)
                _ = try await service.waitForEnd()
                throw error
            }
            #expect(try await service.stop() == 0, "\(service.logged)")
        }
    }

    private func origin() throws -> WireOrigin {
        try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
    }

    private func submit(_ origin: WireOrigin, to service: ServiceProcess) async throws -> String? {
        let answer = try await service.request(.post, "/v1/jobs", body: #"{"request": "\#(origin.url())"}"#)
        return answer.status < 300 ? member(answer.json, "id") : nil
    }

    // Proves: REL-1, REL-8.
    @Test(arguments: Fault.allCases)
    func `a service goes on at the server that takes writes, and loses no accepted job`(fault: Fault) async throws {
        let (pair, origin) = (try await PostgresPair(), try origin())
        let calls = Calls()
        try await with(pair, pair.url(), allowing: ["127.0.0.1:\(origin.port)"]) { service in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        while !calls.isOver.withLock({ $0 }) {
                            if let id = try await submit(origin, to: service) {
                                calls.accepted.withLock { $0.append(id) }
                            }
                        }
                    }
                }
                try await until { calls.accepted.withLock { $0.count } > 50 }
                switch fault {
                case .kill: pair.send(SIGKILL, to: 0)
                case .stop: pair.send(SIGSTOP, to: 0)
                case .handover: pair.send(SIGINT, to: 0)
                }
                try await until { try await service.request(.get, "/readyz").status == 503 }
                try await pair.promote()
                let (start, before) = (ContinuousClock.now, calls.accepted.withLock { $0.count })
                try await until { calls.accepted.withLock { $0.count } > before }
                let wait = ContinuousClock.now - start
                #expect(wait < .seconds(4))
                try await until { try await service.request(.get, "/readyz").status == 200 }
                calls.isOver.withLock { $0 = true }
                try await group.waitForAll()
            }
            let ids = calls.accepted.withLock { $0 }
            try await until {
                let rows = try await pair.administrate(
                    1, "SELECT FROM results WHERE state = 'succeeded'", database: "fetchd")
                return rows.count >= ids.count
            }
            for id in ids { #expect(try await service.request(.get, "/v1/jobs/\(id)").status == 200, "\(id)") }
        }
    }

    @Test func `a server that accepts connections and is silent is passed over`() async throws {
        let pair = try await PostgresPair()
        let silent = try WireOrigin { connection in while try connection.receiveHead() != nil {} }
        let start = ContinuousClock.now
        let url = pair.url(behind: [silent.port], "?target_session_attrs=read-write")
        try await with(pair, url) { service async throws in
            #expect(ContinuousClock.now - start < .seconds(20))
            #expect(try await service.request(.get, "/readyz").status == 200)
            #expect(try await service.request(.get, "/v1/jobs").status == 200)
        }
    }

    // One server alone: there is nothing to turn to.
    @Test func `a node whose database hangs ends within its drain time`() async throws {
        let (pair, gate) = (try await PostgresPair(), Gate())
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil { try gate.wait() }
        }
        let url = "postgres://postgres@127.0.0.1:\(pair.ports[0])/fetchd"
        let settings = ["WORKER_DRAIN_SECONDS": "3"]
        try await with(pair, url, allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { service in
            for _ in 0..<5 { _ = try await submit(origin, to: service) }
            pair.send(SIGSTOP, to: 0)
            async let hanging = submit(origin, to: service)
            let start = ContinuousClock.now
            let status = try await service.stop()
            let time = ContinuousClock.now - start
            _ = try? await hanging
            #expect(status == 0, "\(service.logged)")
            // Requests may take 10 s, and then jobs their drain time.
            #expect(time < .seconds(15))
            gate.open()
        }
    }
}
