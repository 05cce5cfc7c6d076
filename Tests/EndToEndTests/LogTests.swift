import Foundation
import HTTPTypes
import TestSupport
import Testing

/// What a running service logs.
@Suite(.timeLimit(.minutes(5))) struct LogTests {
    /// The lines of a log, read by a JSON parser.
    private static func lines(of log: String) throws -> [[String: String]] {
        try log.split(separator: "\n").map { line in
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8))
            return try #require(object as? [String: String], "\(line)")
        }
    }

    /// Every thread of the service is at work when it is told to stop; NIO ends the process here over what it prints
    /// elsewhere.
    @Test func `a service that is stopped says nothing that is no line of its log, each time`() async throws {
        let settings = ["LOG_FORMAT": "json", "SWIFTNIO_STRICT": "1"]
        try await ServiceProcess.Place.with(allowing: [], settings: settings) { place in
            let key = try await place.key()
            for _ in 0..<15 {
                let service = try await ServiceProcess.start(place, key: key)
                try await withThrowingTaskGroup { group in
                    for _ in 0..<20 { group.addTask { _ = try await service.request(.get, "/v1/jobs") } }
                    try await group.waitForAll()
                }
                #expect(try await service.stop() == 0, "\(service.logged)")
                _ = try Self.lines(of: service.logged)
            }
        }
    }

    @Test func `services are called by their types, not described with what they hold`() async throws {
        let settings = ["LOG_FORMAT": "json", "LOG_LEVEL": "trace"]
        try await ServiceProcess.Place.with(allowing: [], settings: settings) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            #expect(try await service.stop() == 0, "\(service.logged)")
            let names = try Self.lines(of: service.logged).compactMap { $0["sl-service"] }
            #expect(Set(names).isSuperset(of: ["NodeService", "Dispatcher"]), "\(names)")
            #expect(names.allSatisfy { $0.allSatisfy { $0.isLetter || "<>.".contains($0) } }, "\(names)")
        }
    }

    @Test func `ten thousand jobs that fail alike are few lines, and none is lost from the count`() async throws {
        try await ServiceProcess.Place.with(allowing: [], settings: ["LOG_FORMAT": "json"]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let line = #"{"request": "data:;base64,!", "configuration": {"retry": {"maximumAttempts": 1}}}"#
            for _ in 0..<10 {
                let answer = try await service.request(
                    .post, "/v1/jobs/batch", body: Array(repeating: line, count: 1000).joined(separator: "\n"),
                    headers: [.contentType: "application/x-ndjson"])
                try #require(answer.status == 200, "\(answer.text)")
            }
            try await until(within: .seconds(180)) {
                try await service.request(.get, "/metrics").text
                    .contains("fetchd_jobs_finished_total{state=\"failed\"} 10000\n")
            }
            #expect(try await service.stop() == 0)
            let lines = try Self.lines(of: service.logged)
            let ends = lines.filter { $0["msg"] == "job finished" }
            #expect(ends.count < 2000 && ends.count >= 50, "\(ends.count)")
            let left = lines.filter { $0["log.message"] == "job finished" }.compactMap {
                Int($0["log.suppressed"] ?? "")
            }
            #expect(ends.count + left.reduce(0, +) == 10_000)
        }
    }
}
