import FetchEngine
import FetchJobs
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// Nodes that each do a part of the work, over one database.
@Suite(.timeLimit(.minutes(3))) struct RoleTests {
    private func place(_ roles: String, beside place: ServiceProcess.Place) -> ServiceProcess.Place {
        let directory = "\(place.directory)/\(roles)"
        var environment = place.environment
        environment.merge(["FETCHD_ROLES": roles, "DATA_DIRECTORY": directory]) { $1 }
        return ServiceProcess.Place(database: place.database, directory: directory, environment: environment)
    }

    private func slots(of node: ServiceProcess) async throws -> String? {
        let metrics = try await node.request(.get, "/metrics").text
        return metrics.split(separator: "\n").first { $0.hasPrefix("fetchd_slots ") }.map { String($0.dropFirst(13)) }
    }

    // Proves: SEC-83.
    @Test func `one node answers, one runs jobs, and one sends webhooks`() async throws {
        let content = pattern(200_000)
        let origin = try await LoopbackServer.nginx(files: ["big.bin": Data(content)])
        let receiver = try WebhookReceiver()
        try await ServiceProcess.Place.with(allowing: [origin.rule, receiver.rule]) { place in
            let key = try await place.key()
            let front = try await ServiceProcess.start(self.place("api", beside: place), key: key)
            let lonely = try await front.request(
                .post, "/v1/jobs", body: #"{"request": "\#(origin.url("/big.bin"))", "priority": 0.1}"#)
            #expect(lonely.status == 202 && lonely.text.contains("noLiveWorker"), "\(lonely.text)")
            #expect(try await front.request(.get, "/readyz").text.contains("No node lives that runs jobs"))
            let doctor = try await ProgramEnd.of(["doctor"], place.environment)
            #expect(doctor.output.contains("has the role courier"), "\(doctor.output)")

            let worker = try await ServiceProcess.start(self.place("worker", beside: place), key: key)
            let courier = try await ServiceProcess.start(self.place("courier, scheduler", beside: place), key: key)
            let (endpoint, secret) = try await receiver.endpoint(of: front)
            let job = try await front.fetch(
                origin.url("/big.bin"), more: #", "webhook": {"endpoint": "\#(endpoint)"}"#)
            #expect(member(job, "state") == "succeeded", "\(job)")
            let body = try await front.request(.get, try #require(member(job, "body", "href", as: String.self)))
            #expect(body.status == 200 && body.body == content)
            #expect(try (try await receiver.next()).isSigned(with: secret))
            let first = try #require(member(lonely.json, "id", as: String.self))
            try await until { member(try await front.request(.get, "/v1/jobs/\(first)").json, "state") == "succeeded" }

            #expect(try await slots(of: front) == "0")
            #expect(try await slots(of: worker) != "0")
            #expect(try await slots(of: courier) == "0")
            for node in [worker, courier] {
                #expect(try await node.request(.get, "/readyz").status == 200)
                for path in ["/v1/jobs", "/v2/queues", "/dashboard", "/docs", "/nothing"] {
                    #expect(try await node.request(.get, path).status == 421, "\(path)")
                }
            }
            let nodes = try await place.database.client.query("SELECT roles FROM nodes ORDER BY started_at")
            #expect(
                try nodes.map { try $0.decode([String].self, at: 0) } == [
                    ["api"], ["worker"], ["courier", "scheduler"],
                ])
            for node in [front, worker, courier] { #expect(try await node.stop() == 0, "\(node.logged)") }
        }
    }

    @Test func `a schedule of one node is followed by another`() async throws {
        try await ServiceProcess.Place.with(allowing: []) { place in
            let key = try await place.key()
            let front = try await ServiceProcess.start(self.place("api,worker", beside: place), key: key)
            let scheduler = try await ServiceProcess.start(self.place("scheduler", beside: place), key: key)
            let made = try await front.request(
                .post, "/v1/schedules", body: #"{"interval": 1, "job": {"request": "data:,x"}}"#)
            #expect(made.status == 201, "\(made.text)")
            try await until(within: .seconds(60)) {
                let list = try await front.request(.get, "/v1/jobs?state=succeeded").json
                return member(list, "data", as: [Any].self)?.isEmpty == false
            }
            for node in [front, scheduler] { #expect(try await node.stop() == 0, "\(node.logged)") }
        }
    }

    @Test(arguments: ["api,pilot", "worker api none", " "])
    func `a role that is not there ends the start`(roles: String) async throws {
        try await ServiceProcess.Place.with(allowing: [], settings: ["FETCHD_ROLES": roles]) { place in
            let end = try await ProgramEnd.of(["serve"], place.environment)
            #expect(end.status == 78 && end.errors.contains("FETCHD_ROLES"), "\(end.errors)")
        }
    }
}
