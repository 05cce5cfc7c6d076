import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// A service in a control group that leaves it little.
@Suite(.timeLimit(.minutes(3))) struct ControlGroupTests {
    // Twice of each: what is written, and what is read, is in the group's memory for as long as there is room.
    // Proves: REL-11.
    @Test(.enabled(if: ControlGroup.isAllowed(.memory), "needs the right to make control groups (root)"))
    func `in 256 MiB of memory two downloads of a gibibyte succeed, and are read`() async throws {
        let server = try #require(try await nginxWithAGibibyte().values.first)
        let group = try ControlGroup(.memory, maximum: 256 << 20)
        try await ServiceProcess.Place.with(allowing: [server.rule]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key(), by: group.launcher)
            var ids: [String] = []
            for number in 0..<2 {
                let body = #"{"kind": "download", "request": "\#(server.url("/big?\(number)"))"}"#
                let answer = try await service.request(.post, "/v1/jobs", body: body)
                ids.append(try #require(member(answer.json, "id"), "\(answer.text)"))
            }
            for id in ids {
                let job = try await service.job(id) { ["succeeded", "failed"].contains(member($0, "state")) }
                #expect(member(job, "body", "bytes") == gibibyte, "\(job)")
                let (body, _) = try await service.stream("/v1/jobs/\(id)/body")
                var count = 0
                for try await chunk in body { count += chunk.count }
                #expect(count == gibibyte)
            }
            #expect(try await service.stop() == 0, "\(service.logged)")
        }
    }

    // Each name is looked up, which would be on a thread of its own.
    // Proves: REL-11.
    @Test(
        .enabled(
            if: ControlGroup.isAllowed(.pids) && NetworkNamespace.isAllowed,
            "needs the right to make control groups and network namespaces (root)"))
    func `without threads for its work a service does it all the same, and does not spin`() async throws {
        let network = try NetworkNamespace()
        let (names, origin) = try await network.inside {
            (
                try NameServer(addresses: [[127, 0, 0, 1]]),
                try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            )
        }
        let group = try ControlGroup(.pids, maximum: 1000)
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            var place = place
            place.network = network
            let service = try await ServiceProcess.start(place, key: try await place.key(), by: group.launcher)
            #expect(try await service.request(.get, "/readyz").status == 200)
            // A few, since those that tasks share end when there is nothing to do, and are made anew.
            try group.setMaximum(try group.count + 3)
            let lines = (0..<100).map { #"{"request": "http://name-\#($0).example:\#(origin.port)/"}"# }
            let batch = try await service.request(
                .post, "/v1/jobs/batch", body: lines.joined(separator: "\n"),
                headers: [.contentType: "application/x-ndjson"])
            #expect(batch.status == 200)
            try await until {
                let queue = try await service.request(.get, "/v1/queue").json
                return member(queue, "waiting") == 0 && member(queue, "running") == 0
            }
            let done = try await service.request(.get, "/v1/jobs?state=succeeded&limit=100").json
            #expect(member(done, "data", as: [Any].self)?.count == 100)
            #expect(try await service.isIdle)
            try group.setMaximum(1000)
            #expect(try await service.stop() == 0, "\(service.logged)")
        }
        #expect(Set(names.asked).count >= 100)
    }
}
