import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Bodies of HTTP/2 that end before their end, of which no length tells it.
@Suite struct CutBodyRuleTests {
    /// A frame (RFC 9113 §4.1) of the one stream there is, or of the connection.
    private static func frame(_ type: UInt8, _ flags: UInt8, _ stream: UInt8, _ payload: [UInt8] = []) -> [UInt8] {
        [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, stream] + payload
    }

    /// A field by its number in the static table (RFC 7541 §6.2.1).
    private static func field(_ index: UInt8, _ value: String) -> [UInt8] {
        [0x40 | index, UInt8(value.utf8.count)] + Array(value.utf8)
    }

    private static let settings = frame(4, 0, 0)
    private static let data = frame(0, 0, 1, Array("part".utf8))
    private static let isHTTP2 = #""connections": {"httpVersion": "2"}"#

    private static let cuts: [(String, [UInt8])] = [
        ("RST_STREAM with NO_ERROR", frame(3, 0, 1, [0, 0, 0, 0])),
        ("RST_STREAM with INTERNAL_ERROR", frame(3, 0, 1, [0, 0, 0, 2])),
        ("GOAWAY that excludes it", frame(7, 0, 0, [0, 0, 0, 0, 0, 0, 0, 0])),
        ("a short PING", frame(6, 0, 0, [0, 0, 0])),
        ("the end of the connection", []),
    ]

    /// Runs a test over a service that may reach an origin whose connections are answered with bytes, one by one.
    private func with(
        _ answers: [[UInt8]], holding holds: Bool = true, and end: (gate: Gate, bytes: [UInt8])? = nil,
        _ body: (ServiceProcess, WireOrigin) async throws -> Void
    ) async throws {
        let count = Progress()
        let origin = try WireOrigin { connection in
            let number = count.add(1) - 1
            // Its preface, and its frames up to the request.
            try connection.receive(24)
            while true {
                let head = try connection.receive(9)
                try connection.receive(Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2]))
                if head[3] == 1 { break }
            }
            try connection.send(answers[min(number, answers.count - 1)])
            if number == 0, let end {
                try end.gate.wait()
                try connection.send(end.bytes)
            }
            // The bytes that were sent arrive before the end does, unless that cuts the body.
            if holds, number > 0 || end == nil { try connection.receiveToEnd() }
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { try await body($0, origin) }
    }

    // RFC 9113 §8.1: END_STREAM ends a message, and nothing else does.
    // Proves: ERR-5.
    @Test(arguments: cuts)
    func `a job whose body of HTTP 2 is cut fails`(_ name: String, _ end: [UInt8]) async throws {
        let head = Self.frame(1, 4, 1, [0x88] + Self.field(24, "max-age=60"))
        try await with([Self.settings + head + Self.data + end], holding: !end.isEmpty) { service, origin in
            for kind in ["data", "download"] {
                let job = try await service.fetch(
                    origin.url("/\(kind)"),
                    more: #", "kind": "\#(kind)", "configuration": {\#(Self.isHTTP2), "retry": {"maximumAttempts": 1}}"#
                )
                #expect(member(job, "state") == "failed" && job["body"] == nil, "\(name): \(job)")
                // A body that was cut is not cached either.
                let list = try await service.request(.get, "/v1/cache").json
                #expect(member(list, "data", as: [Any].self)?.isEmpty == true)
            }
        }
    }

    // Proves: ERR-5.
    @Test func `a download whose body of HTTP 2 is cut goes on where it was`() async throws {
        let tag = Self.field(34, "\"a\"") + Self.field(18, "bytes")
        let begun = Self.frame(1, 4, 1, [0x88] + tag) + Self.data
        let (gate, cut) = (Gate(), Self.frame(3, 0, 1, [0, 0, 0, 2]))
        let rest =
            Self.frame(1, 4, 1, [0x8A] + tag + Self.field(30, "bytes 4-7/8"))
            + Self.frame(0, 1, 1, Array("rest".utf8))
        try await with([Self.settings + begun, Self.settings + rest], and: (gate, cut)) { service, origin in
            let more = #", "kind": "download", "configuration": {\#(Self.isHTTP2), "retry": {"maximumAttempts": 1}}"#
            let asked = try await service.request(
                .post, "/v1/jobs", body: #"{"request": "\#(origin.url("/f"))"\#(more)}"#)
            let id = try #require(member(asked.json, "id", as: String.self), "\(asked.text)")
            _ = try await service.job(id) { member($0, "progress", "bytesReceived") == 4 }
            gate.open()
            let job = try await service.job(id) { member($0, "state") == "failed" }
            let data = try #require(member(job, "error", "resumeData", as: String.self), "\(job)")
            let again = try await service.fetch(origin.url("/f"), more: more + #", "resumeFrom": "\#(data)""#)
            #expect(member(again, "state") == "succeeded", "\(again)")
            let href = try #require(member(again, "body", "href", as: String.self))
            #expect(try await service.request(.get, href).text == "partrest")
        }
    }
}
