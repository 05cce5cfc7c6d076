import Foundation
import HTTPTypes
import TestSupport
import Testing

extension LimiterTests {
    /// The scope of the bandwidth.
    enum Bounded: CaseIterable {
        case host, flow, tenant, all

        /// - Parameter limit: `none` for any number of bytes.
        func set(
            _ limit: String, _ origin: WireOrigin, _ place: ServiceProcess.Place, _ service: ServiceProcess
        ) async throws {
            let body = limit == "none" ? "{}" : #"{"maximumBytesPerSecond": \#(limit)}"#
            switch self {
            case .host:
                let path = "/v1/hosts/127.0.0.1:\(origin.port)"
                #expect(try await service.request(.put, path, body: body).status / 100 == 2)
            case .flow: #expect(try await service.request(.put, "/v1/flows/films", body: body).status / 100 == 2)
            case .tenant: _ = try await place.run("queue", "limit", limit, "--tenant", "default")
            case .all: _ = try await place.run("queue", "limit", limit)
            }
        }
    }

    // R17: at 1024 bytes a second it would take five minutes, and the first part of it has come by then.
    // Proves: SEC-45.
    @Test(arguments: Bounded.allCases)
    func `how fast jobs are together is bounded, and can be changed while they run`(_ bounded: Bounded) async throws {
        let body = pattern(300_000)
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
                try connection.send(body)
            }
        }
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            try await bounded.set("1024", origin, place, service)
            // The node is told of the operator's setting.
            var slow = ""
            try await until {
                slow = try await Self.submit(origin.url(), more: #", "flow": {"key": "films"}"#, to: service)
                let job = try await service.job(slow) {
                    member($0, "state") == "succeeded" || member($0, "progress", "bytesReceived", as: Int.self) ?? 0 > 0
                }
                return member(job, "state") == "running"
            }
            try await bounded.set("none", origin, place, service)
            try await Self.waitUntilDone([slow], at: service)
            #expect(try await service.request(.get, "/v1/jobs/\(slow)/body").body == body)
            try await service.stop()
        }
    }
}
