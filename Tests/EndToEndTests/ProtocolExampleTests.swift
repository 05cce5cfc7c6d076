import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The protocol of docs/protocols.md, as it stands there: an ordinary program of Python's own library.
@Suite struct ProtocolExampleTests {
    /// The first example of a page.
    private func python(in page: String) throws -> String {
        let path = FileManager.default.currentDirectoryPath + "/docs/" + page
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let block = try #require(text.firstRange(of: /```python\n(?:.*\n)*?```/))
        return text[block].split(separator: "\n").dropFirst().dropLast().joined(separator: "\n")
    }

    @Test func `the protocol of the documentation loads what a signed message asks for, and nothing else`() async throws
    {
        let port = try LoopbackServer.freePort()
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(port)"]) { place in
            let service = try await ServiceProcess.start(
                place, key: try await place.run("keys", "create", "--role", "admin"))
            let url = "http://127.0.0.1:\(port)/load"
            let made = try await service.request(
                .put, "/v1/admin/protocols/archive", body: #"{"scheme": "archive", "url": "\#(url)"}"#)
            let secret = try #require(member(made.json, "secret", as: String.self), "\(made.text)")
            let lines = [
                "import os", try python(in: "WEBHOOKS.md"), try python(in: "protocols.md"),
                "SECRET = os.environ['SECRET']",
                "http.server.HTTPServer(('127.0.0.1', \(port)), Archive).serve_forever()",
            ]
            let directory = try TemporaryDirectory()
            let script = try directory.write(lines.joined(separator: "\n"), to: "archive.py")
            let environment = ProcessInfo.processInfo.environment.merging(["SECRET": secret]) { $1 }
            let server = try await LoopbackServer(
                in: directory, port: port, environment: environment, ["/usr/bin/env", "python3", script])
            let job = try await service.fetch("archive://shelf/7")
            let href = try #require(member(job, "body", "href", as: String.self), "\(job)")
            #expect(try await service.request(.get, href).text == "You asked for archive://shelf/7.\n")
            let (status, _) = try await onThread {
                let program = try Program(
                    [
                        "/usr/bin/curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-d", "{}",
                        "-H", "webhook-id: 1", "-H", "webhook-timestamp: 1", "-H", "webhook-signature: v1,x", url,
                    ],
                    readsOutput: true)
                return (program.output(), program.waitForEnd())
            }
            #expect(status == "401")
            withExtendedLifetime(server) {}
            #expect(try await service.stop() == 0)
        }
    }
}
