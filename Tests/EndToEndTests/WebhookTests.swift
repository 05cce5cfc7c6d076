import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// SEC-35, SEC-36: events reach their receiver, signed, at least once.
@Suite struct WebhookTests {
    /// A receiver, and what it receives: the head and the body of each message.
    private func receiver() throws -> (WireOrigin, AsyncStream<(head: String, body: [UInt8])>) {
        let (messages, message) = AsyncStream.makeStream(of: (head: String, body: [UInt8]).self)
        let origin = try WireOrigin { connection in
            while let head = try connection.receiveHead() {
                let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
                message.yield((head, try connection.receive(length)))
                try connection.send("HTTP/1.1 204 No Content\r\n\r\n")
            }
        }
        return (origin, messages)
    }

    private func endpoint(_ service: ServiceProcess, _ receiver: WireOrigin) async throws -> (String, WebhookSecret) {
        let body = #"{"url": "\#(receiver.url("/hook"))"}"#
        let answer = try await service.request(.post, "/v1/webhooks/endpoints", body: body)
        #expect(answer.status == 201, "\(answer.text)")
        let id = try #require(member(answer.json, "id", as: String.self))
        let secret = try #require(member(answer.json, "secret", as: String.self))
        return (id, try #require(WebhookSecret(secret)))
    }

    @Test func `a finished job is announced with a signature that verifies`() async throws {
        let origin = try await Origin.nginx(files: ["a": Data("x".utf8)])
        let (receiver, messages) = try receiver()
        let rules = [origin.rule, "127.0.0.1:\(receiver.port)"]
        try await ServiceProcess.with(allowing: rules) { service in
            let (endpoint, secret) = try await endpoint(service, receiver)
            let job = try await service.fetch(origin.url("/a"), more: #", "webhook": {"endpoint": "\#(endpoint)"}"#)
            var received = messages.makeAsyncIterator()
            let message = try #require(await received.next())
            let field = { (name: String) in
                message.head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name + ": ") }
                    .map { String($0.dropFirst(name.count + 2)) }
            }
            let signature = WebhookSignature(
                id: try #require(field("webhook-id")),
                timestamp: try #require(field("webhook-timestamp").flatMap { Int64($0) })
            )
            let signatures = try #require(field("webhook-signature"))
            #expect(signature.verify(signatures, of: message.body, with: secret, now: Timestamp.now.seconds))
            let json = try #require(try JSONSerialization.jsonObject(with: Data(message.body)) as? [String: Any])
            #expect(member(json, "type") == "job.finished")
            #expect(member(json, "data", "job", "id") == member(job, "id", as: String.self))
            #expect(member(json, "data", "job", "state") == "succeeded")
        }
    }

    @Test func `an endpoint that may not be reached is refused when it is made`() async throws {
        try await ServiceProcess.with(allowing: []) { service in
            for url in ["https://10.0.0.1/hook", "http://receiver.example/hook"] {
                let answer = try await service.request(.post, "/v1/webhooks/endpoints", body: #"{"url": "\#(url)"}"#)
                #expect(answer.status == 422)
                #expect(member(answer.json, "errors", "0", "pointer") == "/url")
            }
        }
    }
}
