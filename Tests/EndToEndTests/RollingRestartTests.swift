import FetchEngine
import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Nodes that leave and come back behind a balancer, and what clients notice.
@Suite(.timeLimit(.minutes(3))) struct RollingRestartTests {
    /// The calls of clients, and those that were not answered well.
    private final class Calls: Sendable {
        private struct State {
            var count = 0
            var accepted: [String] = []
            var failures: [String] = []
            var isOver = false
        }

        private let state = Mutex(State())

        var count: Int { state.withLock { $0.count } }
        var accepted: [String] { state.withLock { $0.accepted } }
        var failures: [String] { state.withLock { $0.failures } }
        var isOver: Bool { state.withLock { $0.isOver } }

        func end() { state.withLock { $0.isOver = true } }

        func note(_ job: String?, _ answer: String) {
            state.withLock { state in
                state.count += 1
                if let job { state.accepted.append(job) } else { state.failures.append(answer) }
            }
        }
    }

    /// Submits jobs and reads them back, one after the other over kept connections, until the calls are over.
    private func load(_ base: String, _ origin: WireOrigin, _ key: String, _ calls: Calls) async throws {
        let session = Session()
        let fields: HTTPFields = [.authorization: "Bearer \(key)", .contentType: "application/json"]
        let body = #"{"request": "\#(origin.url())"}"#
        while !calls.isOver {
            do {
                let submission = Request(
                    url: try URLRecord(base + "/v1/jobs"), method: .post, headerFields: fields,
                    body: .bytes(Array(body.utf8)))
                let (bytes, response) = try await session.data(for: submission)
                let text = String(decoding: bytes, as: UTF8.self)
                let job = text.firstMatch(of: /job_[0-9a-z]+/).map { String($0.output) }
                calls.note(response.status.code < 300 ? job : nil, "\(response.status) \(text)")
                guard let job else { continue }
                let look = Request(url: try URLRecord(base + "/v1/jobs/\(job)"), headerFields: fields)
                let (found, status) = try await session.data(for: look)
                calls.note(
                    status.status == .ok ? job : nil, "\(status.status) \(String(decoding: found, as: UTF8.self))")
            } catch {
                calls.note(nil, "\(error)")
            }
        }
    }

    // The balancer repeats nothing and follows the readiness alone.
    // Proves: REL-13.
    @Test(.enabled(if: LoopbackServer.haproxy != nil))
    func `nodes are replaced one by one and no call fails`() async throws {
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let settings = ["SERVER_LAME_DUCK_SECONDS": "1", "WORKER_DRAIN_SECONDS": "5"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let key = try await place.key()
            let ports = [try LoopbackServer.freePort(), try LoopbackServer.freePort(), try LoopbackServer.freePort()]
            let places = ports.map(place.listening)
            var nodes: [ServiceProcess] = []
            for place in places { nodes.append(try await ServiceProcess.start(place, key: key)) }
            let balancer = try await LoopbackServer.haproxy(before: ports)
            let base = "http://127.0.0.1:\(balancer.port)"
            let calls = Calls()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { try await load(base, origin, key, calls) } }
                try await until { calls.count > 100 }
                for (number, place) in places.enumerated() {
                    #expect(try await nodes[number].stop() == 0, "\(nodes[number].logged)")
                    nodes[number] = try await ServiceProcess.start(place, key: key)
                    try await until { try await nodes[number].request(.get, "/readyz").status == 200 }
                    // The balancer knows when calls come.
                    let before = calls.count
                    try await until {
                        let text = try await nodes[number].request(.get, "/metrics").text
                        return text.contains(#"fetchd_http_requests_total{method="POST",route="/v1/jobs""#)
                            && calls.count > before
                    }
                }
                calls.end()
                try await group.waitForAll()
            }
            #expect(calls.failures.isEmpty, "\(calls.failures.prefix(3))")
            #expect(calls.count > 500)
            for job in Set(calls.accepted) {
                _ = try await nodes[0].job(job) { member($0, "state") == "succeeded" }
            }
            for node in nodes { #expect(try await node.stop() == 0, "\(node.logged)") }
        }
    }

    @Test func `a node that leaves says so, answers on, and closes its port then`() async throws {
        try await ServiceProcess.Place.with(allowing: [], settings: ["SERVER_LAME_DUCK_SECONDS": "3"]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            #expect(try await service.request(.get, "/v1/jobs").headers[.connection] == nil)
            service.send(SIGTERM)
            try await until { try await service.request(.get, "/readyz").status == 503 }
            let ready = try await service.request(.get, "/readyz")
            #expect(member(ready.json, "code") == "notReady")
            #expect(try await service.request(.get, "/healthz").status == 200)
            let list = try await service.request(.get, "/v1/jobs")
            #expect(list.status == 200)
            #expect(list.headers[.connection] == "close")
            let session = try await service.request(.post, "/v1/sessions", body: "{}")
            #expect(session.status == 201, "\(session.text)")
            #expect(try await service.waitForEnd() == 0, "\(service.logged)")
            await #expect(throws: LoadError.self) { try await service.request(.get, "/healthz") }
        }
    }
}

extension ServiceProcess.Place {
    /// The same at a port that stays the same.
    fileprivate func listening(at port: UInt16) -> Self {
        var environment = environment
        environment["SERVER_PORT"] = "\(port)"
        return Self(database: database, directory: directory, environment: environment)
    }
}
