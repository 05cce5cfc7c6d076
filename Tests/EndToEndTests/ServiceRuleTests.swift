import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Rules of the service, set by an operator for the jobs of all tenants.
@Suite(.timeLimit(.minutes(2))) struct ServiceRuleTests {
    private static let path = "/v1/admin/rules"

    private func rules(_ name: String, _ answer: String) -> String {
        #"{"rules": [{"name": "\#(name)", "on": "willPerformHTTPRedirection", "answer": "\#(answer)"}]}"#
    }

    /// Sends everyone from `/` to `/next`.
    private func origin() throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let isFirst = head.hasPrefix("GET / ")
                try connection.send(
                    isFirst
                        ? "HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n"
                        : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            }
        }
    }

    private func run(_ service: ServiceProcess, _ url: String, _ more: String = "") async throws -> [String: Any] {
        let answer = try await service.request(.post, "/v1/jobs", body: #"{"request": {"url": "\#(url)"}\#(more)}"#)
        return try await service.end(of: try #require(member(answer.json, "id", as: String.self), "\(answer.text)"))
    }

    @Test func `a rule of the service decides for the jobs of all nodes until it is withdrawn`() async throws {
        let origin = try origin()
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let key = try await place.key()
            let admin = try await place.key(scopes: .all)
            let first = try await ServiceProcess.start(place, key: key)
            let second = try await ServiceProcess.start(place, key: key)
            #expect(member(try await run(second, origin.url("/")), "state") == "succeeded")
            let put = try await first.request(.put, Self.path, body: rules("nowhere", "cancel"), key: admin)
            try #require(put.status == 200, "\(put.text)")
            // The other node is told of it: no job of it is asked for that.
            try await until {
                let forecast = try await second.request(
                    .post, "/v1/explain",
                    body:
                        #"{"request": "\#(origin.url("/"))", "whatIf": [{"on": "willPerformHTTPRedirection", "to": "\#(origin.url("/next"))"}]}"#
                )
                return member(forecast.json, "whatIf", "0", "by", "from") == "service"
            }
            let cancelled = try await run(second, origin.url("/"))
            #expect(member(cancelled, "state") == "cancelled", "\(cancelled)")
            let id = try #require(member(cancelled, "id", as: String.self))
            let story = try await second.request(.get, "/v1/jobs/\(id)/explain").json
            let decision = try #require(
                member(story, "attempts", "0", "decisions", "0", as: [String: Any].self), "\(story)")
            #expect(member(decision, "by", "from") == "service" && member(decision, "by", "rule") == "nowhere")
            // A rule of the job comes before it.
            let own = rules("here", "returnResponse").dropFirst().dropLast()
            let returned = try await run(second, origin.url("/"), #", "configuration": {\#(own)}"#)
            #expect(member(returned, "response", "status") == 302, "\(returned)")
            // What is stored outlives the nodes.
            first.send(SIGKILL)
            _ = try await first.waitForEnd()
            let third = try await ServiceProcess.start(place, key: key)
            #expect(member(try await run(third, origin.url("/")), "state") == "cancelled")
            _ = try await third.request(.put, Self.path, body: #"{"rules": []}"#, key: admin)
            #expect(member(try await run(third, origin.url("/")), "state") == "succeeded")
            #expect(try await third.stop() == 0)
            #expect(try await second.stop() == 0)
        }
    }
}
