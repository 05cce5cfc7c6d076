import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Whether a download could go on, as its job says.
@Suite(.timeLimit(.minutes(2))) struct ResumableTests {
    private static let strong = "ETag: \"e\"\r\n"

    /// Sends half of a body and closes the connection.
    private func brokenOrigin(_ fields: String, sending count: Int = 5000) throws -> WireOrigin {
        try WireOrigin { connection in
            _ = try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 10000\r\n\r\n")
            // The beginning of a gzip file, with a block that is stored as it is.
            let head: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0, 0xFF, 0xFF, 0, 0]
            try connection.send(head + [UInt8](repeating: 65, count: count - head.count))
        }
    }

    private func download(
        _ service: ServiceProcess, _ url: String, request: String = "", _ configuration: String = ""
    ) async throws -> [String: Any] {
        try await service.fetch(
            url, request: request,
            more: #", "kind": "download", "configuration": {"retry": {"maximumAttempts": 1}\#(configuration)}"#)
    }

    // Proves: DLD-10, DLD-11, DLD-13, DLD-15, LIF-15.
    @Test func `a failed download says whether another can go on, and why not`() async throws {
        let cases: [(fields: String, request: String, configuration: String, reason: String?)] = [
            (Self.strong, "", "", nil),
            ("", "", "", "validator"),
            ("ETag: W/\"e\"\r\n", "", "", "validator"),
            (Self.strong + "Accept-Ranges: none\r\n", "", "", "ranges"),
            (Self.strong, #", "method": "POST", "body": {"text": "x"}"#, "", "method"),
            (Self.strong, "", #", "response": {"decode": ["gzip"]}"#, "decoding"),
            (Self.strong, "", #", "destination": {"keepPartial": false}"#, "discarded"),
        ]
        let origins = try cases.map { try brokenOrigin($0.fields) }
        try await ServiceProcess.with(allowing: origins.map { "127.0.0.1:\($0.port)" }) { service in
            for (origin, example) in zip(origins, cases) {
                let job = try await download(service, origin.url("/f"), request: example.request, example.configuration)
                #expect(member(job, "state") == "failed")
                #expect(member(job, "resumable") == (example.reason == nil), "\(example)")
                #expect(member(job, "notResumableReason") == example.reason, "\(job)")
                #expect(member(job, "error", "notResumableReason") == example.reason)
                let data = member(job, "error", "resumeData", as: String.self)
                #expect((data == nil) == (example.reason != nil))
                if let data {
                    #expect(try await service.request(.get, "/v1/blobs/\(data)").body.count == 5000)
                }
            }
        }
    }

    // Proves: DLD-11, DLD-13.
    @Test func `a download of which nothing came has nothing to go on with`() async throws {
        let closed = try WireOrigin(isOpen: false) { _ in }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(closed.port)"]) { service in
            let job = try await download(service, closed.url("/f"))
            #expect(member(job, "resumable") == false)
            #expect(member(job, "notResumableReason") == "empty")
        }
    }

    // Proves: DLD-10, DLD-13.
    @Test func `a running download says so too, and one that is cancelled for good does not keep its bytes`()
        async throws
    {
        let gate = Gate()
        let origin = try WireOrigin { connection in
            _ = try connection.receiveHead()
            try connection.send("HTTP/1.1 200 OK\r\n\(Self.strong)Content-Length: 10000\r\n\r\n")
            try connection.send(pattern(5000))
            try gate.wait()
        }
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)"]) { service in
            let answer = try await service.request(
                .post, "/v1/jobs", body: #"{"kind": "download", "request": {"url": "\#(origin.url("/f"))"}}"#)
            let id = try #require(member(answer.json, "id", as: String.self))
            let running = try await service.job(id) { member($0, "progress", "bytesReceived", as: Int.self) == 5000 }
            #expect(member(running, "resumable") == true)
            _ = try await service.request(.post, "/v1/jobs/\(id)/cancel")
            let job = try await service.job(id) { member($0, "state") == "cancelled" }
            gate.open()
            #expect(member(job, "resumable") == false)
            #expect(member(job, "notResumableReason") == "discarded")
        }
    }
}
