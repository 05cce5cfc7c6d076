import Foundation
import Glibc
import HTTPTypes
import TestSupport
import Testing

/// Groups on several nodes, one of which is killed.
@Suite(.timeLimit(.minutes(2))) struct GroupTests {
    // R55, R51
    @Test func `one signed message tells of a group whose node was killed`() async throws {
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let gate = Gate()
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                arrival.yield()
                try gate.wait()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let receiver = try WebhookReceiver()
        let rules = ["127.0.0.1:\(origin.port)", receiver.rule]
        let settings = ["WORKER_LEASE_SECONDS": "1"]
        try await ServiceProcess.Place.with(allowing: rules, settings: settings) { place in
            let key = try await place.key()
            let first = try await ServiceProcess.start(place, key: key)
            let (endpoint, secret) = try await receiver.endpoint(of: first)
            let made = try await first.request(
                .post, "/v1/groups", body: #"{"webhook": {"endpoint": "\#(endpoint)"}, "labels": {"import": "7"}}"#)
            let id = try #require(member(made.json, "id", as: String.self), "\(made.text)")
            let line = #"{"request": {"url": "\#(origin.url())"}, "group": "\#(id)"}"# + "\n"
            let batch = try await first.request(
                .post, "/v1/jobs/batch", body: String(repeating: line, count: 30),
                headers: [.contentType: "application/x-ndjson"])
            #expect(batch.text.split(separator: "\n").filter { $0.contains("job_") }.count == 30)
            #expect(try await first.request(.post, "/v1/groups/\(id)/close").status == 202)
            var arrived = arrivals.makeAsyncIterator()
            await arrived.next()
            first.send(SIGKILL)
            _ = try await first.waitForEnd()
            gate.open()

            let second = try await ServiceProcess.start(place, key: key)
            let message = try await receiver.next()
            #expect(try message.isSigned(with: secret))
            let json = try #require(try JSONSerialization.jsonObject(with: Data(message.body)) as? [String: Any])
            #expect(member(json, "type") == "group.finished" && member(json, "data", "group", "id") == id)
            #expect(member(json, "data", "group", "jobs", "succeeded") == 30)
            let group = try await second.request(.get, "/v1/groups/\(id)").json
            #expect(member(group, "state") == "finished" && member(group, "jobs", "total") == 30)
            let deliveries = try await second.request(.get, "/v1/webhooks/deliveries?event=group.finished")
            #expect(deliveries.json["data"].count == 1)
            #expect(member(deliveries.json, "data", "0", "group") == id)
            #expect(try await second.stop() == 0, "\(second.logged)")
        }
    }
}
