import FetchJobs
import Foundation
import HTTPTypes
import Postgres
import TestSupport
import Testing

/// Jobs that another service stores in its own transactions.
@Suite struct SQLJobTests {
    /// The nodes look by themselves once in minutes here: it is the commit that wakes them (R42).
    @Test func `a job that another service commits is run, and one that breaks a rule fails`() async throws {
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let settings = ["WORKER_LEASE_SECONDS": "600"]
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"], settings: settings) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let client = place.database.client
            // The node listens from some time on.
            try await until {
                try await !client.query(
                    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
                ).isEmpty
            }
            let ids = try await client.transaction { connection in
                var ids: [String] = []
                for url in ["\(origin.url())", "http://origin.example:99999/"] {
                    let rows = try await connection.query(
                        "SELECT fetchd.enqueue(json_build_object('request', \(url)::text))")
                    ids.append(try #require(try rows.first?.decode(String.self, at: 0)))
                }
                return ids
            }
            let done = try await service.job(ids[0]) { $0["finishedAt"] != nil }
            #expect(done["state"] as? String == "succeeded")
            let failed = try await service.job(ids[1]) { $0["finishedAt"] != nil }
            #expect(member(failed, "error", "name") == "badURL")
            #expect(try await service.stop() == 0)
        }
    }

    // R37, R55
    @Test func `jobs that another service commits keep the order of their flow, and their group ends once`()
        async throws
    {
        let seen = LimiterTests.Seen()
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let place = seen.begin(head)
                #expect(try connection.receive(5) == Array("hello".utf8), "request \(place)")
                seen.end()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let receiver = try WebhookReceiver()
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)", receiver.rule]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let (endpoint, _) = try await receiver.endpoint(of: service)
            let group = try await service.request(
                .post, "/v1/groups", body: #"{"webhook": {"endpoint": "\#(endpoint)"}}"#)
            let id = try #require(member(group.json, "id", as: String.self), "\(group.text)")
            let limits = try await service.request(.put, "/v1/flows/orders", body: #"{"order": "fifo"}"#)
            #expect(limits.status == 201)
            let stored = try await service.request(
                .post, "/v1/blobs", body: "hello", headers: [.contentType: "text/plain"])
            let blob = try #require(member(stored.json, "id", as: String.self))

            let url = origin.url("/")
            @Sendable func enqueue(_ numbers: ClosedRange<Int32>, _ connection: Connection) async throws {
                try await connection.query(
                    """
                    SELECT fetchd.enqueue(json_build_object(
                        'request', json_build_object(
                            'url', \(url)::text || number, 'method', 'PUT',
                            'body', json_build_object('blob', \(blob)::text)
                        ),
                        'flow', json_build_object('key', 'orders'), 'group', \(id)::text
                    ))
                    FROM generate_series(\(numbers.lowerBound), \(numbers.upperBound)) AS number
                    """)
            }
            struct Undone: Error {}
            await #expect(throws: Undone.self) {
                try await place.database.client.transaction { connection in
                    try await enqueue(90...99, connection)
                    throw Undone()
                }
            }
            try await place.database.client.transaction { connection in
                try await enqueue(1...10, connection)
                // It takes no more, and yet those of transactions that go on.
                #expect(try await service.request(.post, "/v1/groups/\(id)/close").status == 202)
                #expect(try await service.request(.delete, "/v1/blobs/\(blob)").status == 409)
            }
            let message = try await receiver.next()
            let json = try #require(try JSONSerialization.jsonObject(with: Data(message.body)) as? [String: Any])
            #expect(member(json, "type") == "group.finished" && member(json, "data", "group", "jobs", "total") == 10)
            #expect(seen.paths == (1...10).map { "/\($0)" })
            #expect(seen.most == 1)
            let deliveries = try await service.request(.get, "/v1/webhooks/deliveries?event=group.finished")
            #expect(deliveries.json["data"].count == 1)
            #expect(try await service.request(.delete, "/v1/blobs/\(blob)").status == 204)
            #expect(try await service.stop() == 0, "\(service.logged)")
        }
    }
}
