import FetchJobs
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// Many jobs in one request.
@Suite(.timeLimit(.minutes(3))) struct BatchTests {
    private static let lines: HTTPFields = [.contentType: "application/x-ndjson"]

    private func submit(_ lines: String, to service: ServiceProcess) async throws -> [[String: Any]] {
        let answer = try await service.request(.post, "/v1/jobs/batch", body: lines, headers: Self.lines)
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.body.split(separator: UInt8(ascii: "\n")).map {
            try #require(try JSONSerialization.jsonObject(with: Data($0)) as? [String: Any])
        }
    }

    // R46
    @Test func `ten thousand lines have a result each, in their order, whatever some of them are`() async throws {
        try await ServiceProcess.with(allowing: []) { service in
            let good = #"{"request": "https://origin.example/", "suspended": true}"#
            let lines = (1...10_000).map { number in
                switch number % 1000 {
                case 0: "{"
                case 500: #"{"request": {"url": "https://origin.example/"}, "priority": 2}"#
                default: good
                }
            }
            _ = try await submit(good, to: service)
            let before = try service.residentBytes
            let results = try await submit(lines.joined(separator: "\n"), to: service)
            #expect(try service.residentBytes - before < 48 << 20)
            #expect(results.map { $0["line"] as? Int } == Array(1...10_000))
            for (index, result) in results.enumerated() {
                switch (index + 1) % 1000 {
                case 0: #expect(member(result, "problem", "code") == "malformedJSON")
                case 500: #expect(member(result, "problem", "errors", "0", "pointer") == "/priority")
                default: #expect(result["id"] is String && member(result, "state") == "suspended")
                }
            }
            #expect(Set(results.compactMap { $0["id"] as? String }).count == 9_980)
        }
    }

    @Test func `what large lines hold is not kept in memory`() async throws {
        try await ServiceProcess.with(allowing: []) { service in
            let text = String(repeating: "x", count: 60_000)
            let line =
                #"{"request": {"url": "https://origin.example/", "method": "POST", "body": {"text": "\#(text)"}}, "#
                + #""suspended": true}"# + "\n"
            _ = try await submit(line, to: service)
            let before = try service.residentBytes
            let results = try await submit(String(repeating: line, count: 1500), to: service)
            #expect(results.count == 1500 && results.allSatisfy { $0["id"] is String })
            // Of 90 MB; there is room for several statements.
            #expect(try service.residentBytes - before < 48 << 20)
        }
    }

    // R14
    @Test func `each line has a checksum of its own`() async throws {
        let origin = try await LoopbackServer.nginx(files: ["a": Data("hello".utf8), "b": Data("world".utf8)])
        try await ServiceProcess.with(allowing: [origin.rule]) { service in
            func line(_ name: String, _ content: String) -> String {
                let checksum = SHA256Digest(of: Array(content.utf8)).field
                return #"{"kind": "download", "request": "\#(origin.url("/\(name)"))", "#
                    + #""configuration": {"destination": {"checksum": "\#(checksum)"}}}"#
            }
            let lines = [line("a", "hello"), line("b", "hello"), line("b", "world")].joined(separator: "\n")
            let ids = try await submit(lines, to: service).compactMap { $0["id"] as? String }
            var ends: [String?] = []
            for id in ids {
                let job = try await service.job(id) { ["succeeded", "failed"].contains($0["state"] as? String) }
                ends.append(member(job, "error", "name"))
            }
            #expect(ends == [nil, "contentDigestMismatch", nil])
        }
    }

    @Test func `what was exported is submitted again as it is`() async throws {
        try await ServiceProcess.with(allowing: []) { service in
            let jobs = [
                #"{"request": {"url": "data:,1"}, "priority": 0.75, "labels": {"a": "b"}}"#,
                #"{"request": {"url": "https://origin.example/", "method": "PUT", "body": {"json": {"x": [1]}}}, "#
                    + #""configuration": {"retry": {"maximumAttempts": 3}}, "runAt": "2999-01-01T00:00:00Z"}"#,
            ]
            _ = try await submit(jobs.joined(separator: "\n"), to: service)
            let scheduled = try await service.request(
                .post, "/v1/schedules", body: #"{"interval": 3600, "job": {"request": "data:,2"}}"#)
            let id = try #require(member(scheduled.json, "id", as: String.self))
            #expect(try await service.request(.post, "/v1/schedules/\(id)/run").status == 202)

            let export = "/v1/jobs/export?form=submission&createdBefore=\(Timestamp.now.advanced(by: .seconds(60)))"
            let first = try await service.request(.get, export)
            let results = try await submit(first.text, to: service)
            #expect(results.count == 3 && results.allSatisfy { $0["id"] is String }, "\(results)")
            let again = try await service.request(.get, export).text.split(separator: "\n")
            let before = first.text.split(separator: "\n")
            #expect(again.sorted() == (before + before).sorted())
            #expect(try await service.request(.get, "/v1/jobs/export?form=x").status == 400)
        }
    }

    @Test func `batches with the same keys on two nodes at once make one job a key`() async throws {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let key = try await place.key()
            let nodes = [
                try await ServiceProcess.start(place, key: key), try await ServiceProcess.start(place.apart, key: key),
            ]
            let lines = (0..<1200).map {
                #"{"idempotencyKey": "order-\#($0)", "request": "https://origin.example/\#($0)", "suspended": true}"#
            }
            let ids = try await withThrowingTaskGroup(of: [String: String].self) { tasks in
                for node in nodes + nodes {
                    // In an order of its own.
                    let shuffled = lines.shuffled()
                    tasks.addTask {
                        let results = try await submit(shuffled.joined(separator: "\n"), to: node)
                        let ids = results.compactMap { $0["id"] as? String }
                        return Dictionary(uniqueKeysWithValues: zip(shuffled, ids))
                    }
                }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
            #expect(ids[0].count == lines.count && Set(ids[0].values).count == lines.count)
            #expect(ids.allSatisfy { $0 == ids[0] })
            let rows = try await place.database.client.query("SELECT count(*) FROM jobs")
            #expect(try rows.first?.decode(Int64.self, at: 0) == Int64(lines.count))
            for node in nodes { #expect(try await node.stop() == 0, "\(node.logged)") }
        }
    }
}
