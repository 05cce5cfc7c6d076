import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// Actions on all jobs of a filter.
@Suite struct JobActionTests {
    private func act(_ service: ServiceProcess, _ order: String) async throws -> [String: Any] {
        let answer = try await service.request(.post, "/v1/jobs/actions", body: order)
        try #require(answer.status == 200, "\(answer.text)")
        return answer.json
    }

    // R9: failed jobs are found and redriven.
    // Proves: BEY-21.
    @Test func `failed jobs are found by what they are, run again together, given out and deleted`() async throws {
        let origin = try WireOrigin(isOpen: false) { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let once = #""configuration": {"retry": {"maximumAttempts": 1}}"#
            for number in 0..<3 {
                let job = try await service.fetch(
                    origin.url(), more: #", \#(once), "labels": {"batch": "\#(number % 2)"}"#)
                #expect(member(job, "state") == "failed")
            }
            let filters = [
                "state=failed": 3, "error=cannotConnectToHost": 3, "error=timedOut": 0, "label=batch:0": 2,
                "label=batch:0&host=127.0.0.1:\(origin.port)": 2, "host=127.0.0.1": 0, "host=other.example": 0,
                "kind=download": 0, "session=default": 3,
                "createdAfter=2999-01-01T00:00:00Z": 0, "createdBefore=2999-01-01T00:00:00Z&state=failed": 3,
            ]
            for (filter, count) in filters {
                let list = try await service.request(.get, "/v1/jobs?\(filter)").json
                #expect(member(list, "data", as: [Any].self)?.count == count, "\(filter)")
            }
            let page = try await service.request(.get, "/v1/jobs?kind=data&limit=2").json
            let cursor = try #require(member(page, "nextCursor", as: String.self))
            let rest = try await service.request(.get, "/v1/jobs?kind=data&limit=2&cursor=\(cursor)").json
            #expect(member(rest, "data", as: [Any].self)?.count == 1)
            #expect(try await service.request(.get, "/v1/jobs?limit=2&cursor=\(cursor)").status == 400)

            try origin.open()
            let retried = try await act(
                service, #"{"action": "retry", "filter": {"state": "failed", "labels": {"batch": "0"}}}"#)
            #expect(member(retried, "matched") == 2 && member(retried, "changed") == 2)
            let entries = try await service.request(.get, "/v1/audit?action=jobs.retry").json
            #expect(member(entries, "data", "0", "count") == 2)
            #expect(member(entries, "data", "0", "actor", "kind") == "key")
            try await until {
                let list = try await service.request(.get, "/v1/jobs?state=succeeded").json
                return member(list, "data", as: [Any].self)?.count == 2
            }
            let export = try await service.request(.get, "/v1/jobs/export?kind=data")
            #expect(export.headers[.contentType] == "application/x-ndjson")
            let lines = try export.text.split(separator: "\n").map {
                try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }
            #expect(lines.count == 3 && lines.allSatisfy { member($0, "attempts", as: [Any].self)?.isEmpty == false })

            for order in [#"{"action": "delete", "filter": {}}"#, #"{"action": "delete", "filter": {}, "all": false}"#]
            {
                let refused = try await service.request(.post, "/v1/jobs/actions", body: order)
                #expect(refused.status == 422 && refused.text.contains("/filter"), "\(refused.text)")
            }
            for (action, count) in ["delete": 3, "cancel": 0, "retry": 1] {
                let order = #"{"action": "\#(action)", "filter": {}, "all": true, "dryRun": true}"#
                let dry = try await act(service, order)
                #expect(member(dry, "matched") == 3 && member(dry, "changed") == count, "\(action)")
            }
            let one = try await act(service, #"{"action": "delete", "filter": {}, "all": true, "limit": 1}"#)
            #expect(member(one, "changed") == 1)
            let next = try #require(member(one, "nextCursor", as: String.self))
            let all = try await act(service, #"{"action": "delete", "filter": {}, "all": true, "cursor": "\#(next)"}"#)
            #expect(member(all, "changed") == 2 && member(all, "nextCursor", as: String.self) == nil)
            #expect(try await service.request(.get, "/v1/jobs/export").text.isEmpty)
        }
    }

    @Test func `jobs that wait are suspended, resumed and cancelled together`() async throws {
        try await ServiceProcess.with(allowing: []) { service in
            for _ in 0..<3 {
                let body = #"{"request": {"url": "data:,x"}, "runAt": "2999-01-01T00:00:00Z"}"#
                #expect(try await service.request(.post, "/v1/jobs", body: body).status == 202)
            }
            let states = ["suspend": "suspended", "resume": "scheduled", "cancel": "cancelled"]
            for (action, filter) in [("suspend", "scheduled"), ("resume", "suspended"), ("cancel", "scheduled")] {
                let order = #"{"action": "\#(action)", "filter": {"state": "\#(filter)"}}"#
                #expect(member(try await act(service, order), "changed") == 3)
                let list = try await service.request(.get, "/v1/jobs?state=\(states[action] ?? "")").json
                #expect(member(list, "data", as: [Any].self)?.count == 3)
            }
            let wrong = try await service.request(.post, "/v1/jobs/actions", body: #"{"action": "explode"}"#)
            #expect(wrong.status == 422 && wrong.text.contains("/filter"))
        }
    }

    // Cookies lie sealed in their jar and nowhere else.
    // Proves: SEC-50.
    @Test func `values of cookies are not stored beside the job`() async throws {
        let origin = try WireOrigin(
            playing: "HTTP/1.1 200 OK\r\nSet-Cookie: sid=canary; Path=/; HttpOnly\r\nContent-Length: 0\r\n\r\n")
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let more = #", "session": "default""#
            let job = try await service.fetch(origin.url(), more: more)
            #expect(!"\(job)".contains("canary") && "\(job)".contains("sid=<redacted>; Path=/; HttpOnly"))
            let rows = try await place.database.client.query(
                "SELECT count(*) FROM results WHERE response::text LIKE '%canary%'")
            #expect(try rows.first?.decode(Int64.self, at: 0) == 0)
            _ = try await service.fetch(origin.url(), more: more)
            #expect(origin.connections.indices.contains { origin.received(on: $0).contains("sid=canary") })
            #expect(try await service.stop() == 0)
        }
    }

    // An answer is a success, also one that says no; it is found by its status.
    @Test func `jobs are found, counted and acted on by the status of their answers`() async throws {
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let status = head.split(separator: " ")[1].dropFirst().prefix(3)
                try connection.send("HTTP/1.1 \(status) X\r\nContent-Length: 0\r\n\r\n")
            }
        }
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            for status in [200, 204, 404, 410, 404, 503] {
                _ = try await service.fetch(origin.url("/\(status)"), more: #", "labels": {"s": "\#(status)"}"#)
            }
            _ = try await service.fetch("http://10.0.0.1/")
            let filters = [
                "status=404": 2, "status=4xx": 3, "status=5xx": 1, "status=503": 1, "status=2xx": 2, "status=204": 1,
                "status=1xx": 0, "status=4xx&state=succeeded": 3, "status=4xx&state=failed": 0, "state=failed": 1,
            ]
            for (filter, count) in filters {
                let list = try await service.request(.get, "/v1/jobs?\(filter)").json
                #expect(member(list, "data", as: [Any].self)?.count == count, "\(filter)")
                let export = try await service.request(.get, "/v1/jobs/export?\(filter)").text
                #expect(export.split(separator: "\n").count == count, "\(filter)")
            }
            for wrong in ["40", "6xx", "4x", "xx4", "4XX", "099", "600"] {
                let answer = try await service.request(.get, "/v1/jobs?status=\(wrong)")
                #expect(answer.status == 400 && answer.text.contains("such as 404"), "\(answer.text)")
            }
            let statistics = try await service.request(.get, "/v1/stats").json
            let classes = member(statistics, "statusClasses", as: [[String: Any]].self) ?? []
            #expect(classes.map { member($0, "statusClass", as: String.self) } == ["2xx", "4xx", "5xx"])
            #expect(classes.map { member($0, "jobs", as: Int.self) } == [2, 3, 1])
            let metrics = try await service.request(.get, "/metrics").text
            for line in [#"{status_class="4xx"} 3"#, #"{status_class="5xx"} 1"#, #"{status_class="2xx"} 2"#] {
                #expect(metrics.contains("fetchd_attempts_answered_total\(line)"), "\(line)")
            }
            let retried = try await act(service, #"{"action": "delete", "filter": {"status": "5xx"}}"#)
            #expect(member(retried, "matched") == 1 && member(retried, "changed") == 1)

            _ = try await service.request(
                .post, "/dashboard/sign-in", body: "key=\(key)",
                headers: [.contentType: "application/x-www-form-urlencoded", .origin: service.base])
            let overview = try await service.request(.get, "/dashboard").text
            #expect(overview.contains(#"<span class="number">3</span> <span class="state">answered 4xx</span>"#))
            let page = try await service.request(.get, "/dashboard/jobs?status=4xx").text
            #expect(page.contains("/410") && !page.contains("/204") && page.contains("Jobs: status:4xx"))
            #expect(try await service.stop() == 0)
        }
    }
}
