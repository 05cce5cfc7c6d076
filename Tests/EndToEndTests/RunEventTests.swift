import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The events of jobs while they run, sent by webhook.
@Suite struct RunEventTests {
    /// A message as its receiver reads it.
    private struct Told {
        let type: String
        let id: String?
        let data: [String: Any]

        init(_ message: WebhookReceiver.Message) throws {
            let object = try JSONSerialization.jsonObject(with: Data(message.body))
            let json = try #require(object as? [String: Any])
            type = try #require(member(json, "type"))
            id = message["webhook-id"]
            data = try #require(member(json, "data"))
        }
    }

    /// An origin whose `/go` redirects to `/a`.
    private func origin() async throws -> WireOrigin {
        try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                try connection.send(
                    head.hasPrefix("GET /go")
                        ? "HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n"
                        : "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
            }
        }
    }

    // The first message fails at first, and those behind it wait.
    @Test func `the events of a job come in their order, signed, one after the other, and can be sent again`()
        async throws
    {
        let origin = try await origin()
        let receiver = try WebhookReceiver(
            answers: ["HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n"])
        let rules = ["127.0.0.1:\(origin.port)", receiver.rule]
        try await ServiceProcess.Place.with(allowing: rules, settings: ["WORKER_LEASE_SECONDS": "1"]) { place in
            let service = try await ServiceProcess.start(place, key: try await place.key())
            let (endpoint, secret) = try await receiver.endpoint(of: service)
            let types = ["job.started", "job.redirected", "job.response", "job.finished"]
            let change = #"{"events": ["job.started", "job.redirected", "job.response", "job.finished"]}"#
            let changed = try await service.request(
                .patch, "/v1/webhooks/endpoints/\(endpoint)", body: change,
                headers: [.contentType: "application/merge-patch+json"])
            #expect(changed.status == 200, "\(changed.text)")
            let job = try await service.fetch(origin.url("/go"), more: receiver.announcing(endpoint))
            let id = try #require(member(job, "id", as: String.self))
            var told: [Told] = []
            for _ in 0...types.count {
                let message = try await receiver.next()
                #expect(try message.isSigned(with: secret))
                if told.isEmpty { try await place.retryDeliveries() }
                told.append(try Told(message))
            }
            #expect(told.map(\.type) == ["job.started"] + types && told[0].id == told[1].id)
            #expect(told.allSatisfy { member($0.data, "job", "id") == id })
            #expect(told.dropFirst().dropLast().map { member($0.data, "sequence") } == ["1.1", "1.2", "1.3"])
            #expect(member(told[2].data, "details", "status") == 302)
            #expect(member(told[3].data, "details", "status") == 200)
            let again = try await service.request(
                .post, "/v1/webhooks/deliveries/\(try #require(told[2].id))/replay")
            #expect(again.status == 202, "\(again.text)")
            let replayed = try Told(try await receiver.next())
            #expect(replayed.type == "job.redirected" && replayed.id == told[2].id)
            #expect(member(replayed.data, "sequence") == "1.2")
            #expect(try await service.stop() == 0)
        }
    }

    @Test func `a job says itself which events are told, and where`() async throws {
        let origin = try await origin()
        let receiver = try WebhookReceiver()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)", receiver.rule]) { service in
            func webhook(_ events: String) -> String {
                #", "webhook": {"url": "http://\#(receiver.rule)/hook"\#(events)}"#
            }
            let first = try await service.fetch(origin.url("/1"), more: webhook(#", "events": ["job.response"]"#))
            let endpoint = try #require(member(first, "webhook", "endpoint", as: String.self))
            #expect(try Told(try await receiver.next()).type == "job.response")
            // One that is cancelled before it runs has no response; of this one's end nobody wants to hear.
            let later = #", "runAt": "2100-01-01T00:00:00Z""#
            for events in [#", "events": ["job.response"]"#, #", "events": ["job.finished"]"#] {
                let body = #"{"request": {"url": "\#(origin.url("/2"))"}\#(later)\#(webhook(events))}"#
                let job = try await service.request(.post, "/v1/jobs", body: body)
                let id = try #require(member(job.json, "id", as: String.self))
                #expect(try await service.request(.post, "/v1/jobs/\(id)/cancel").status < 300)
            }
            let cancelled = try Told(try await receiver.next())
            #expect(cancelled.type == "job.finished" && member(cancelled.data, "job", "state") == "cancelled")
            // Without a choice of its own, a job has the events of its endpoint: that of an address gets ends.
            let last = try await service.fetch(origin.url("/3"), more: webhook(""))
            let finished = try Told(try await receiver.next())
            #expect(finished.type == "job.finished")
            #expect(member(finished.data, "job", "id") == member(last, "id", as: String.self))
            #expect(member(last, "webhook", "endpoint") == endpoint)
            let list = try await service.request(.get, "/v1/webhooks/endpoints").json
            #expect((list["data"] as? [Any])?.count == 1)
        }
    }

    // Proves: RED-7.
    @Test func `a URL that gets another form is told of as it was written, unless that is secret`() async throws {
        let origin = try await origin()
        let receiver = try WebhookReceiver()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)", receiver.rule]) { service in
            let events = #""events": ["job.canonicalized", "job.redirected", "job.finished"]"#
            let webhook = #", "webhook": {"url": "http://\#(receiver.rule)/hook", \#(events)}"#
            let written = "HTTP://127.0.0.1:\(origin.port)/b/../a"
            _ = try await service.fetch(written, more: webhook)
            let told = try Told(try await receiver.next())
            #expect(told.type == "job.canonicalized" && member(told.data, "sequence") == "1.2")
            #expect(member(told.data, "details", "original") == written)
            #expect(member(told.data, "details", "canonical") == "http://127.0.0.1:\(origin.port)/a")
            #expect(member(told.data, "details", "reason") == "canonical")
            #expect(try Told(try await receiver.next()).type == "job.finished")
            for (url, request) in [(origin.url("/a"), ""), ("\(written)?hush", #", "sensitive": ["query"]"#)] {
                _ = try await service.fetch(url, request: request, more: webhook)
                #expect(try Told(try await receiver.next()).type == "job.finished")
            }
        }
    }

    @Test func `the progress of a job is told while it runs`() async throws {
        let isOver = Gate()
        defer { isOver.open() }
        let origin = try WireOrigin { connection in
            while try connection.receiveHead() != nil {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx")
                // On a busy machine the first wait may be too short.
                try? isOver.wait()
                try isOver.wait()
                try connection.send("y")
            }
        }
        let receiver = try WebhookReceiver()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)", receiver.rule]) { service in
            let events = #""events": ["job.started", "job.progress", "job.finished"]"#
            let webhook = #", "webhook": {"url": "http://\#(receiver.rule)/hook", \#(events)}"#
            let body = #"{"request": {"url": "\#(origin.url("/"))"}\#(webhook)}"#
            #expect(try await service.request(.post, "/v1/jobs", body: body).status == 202)
            #expect(try Told(try await receiver.next()).type == "job.started")
            let progress = try Told(try await receiver.next())
            #expect(progress.type == "job.progress" && member(progress.data, "details", "bytesReceived") == 1)
            isOver.open()
            var last = try Told(try await receiver.next())
            // A busy machine has told of more before the end came.
            while last.type == "job.progress" { last = try Told(try await receiver.next()) }
            #expect(last.type == "job.finished", "\(last.data)")
        }
    }
}
