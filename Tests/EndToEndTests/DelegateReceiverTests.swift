import FetchJobs
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// The receivers of docs/delegate.md, as they stand there.
@Suite struct DelegateReceiverTests {
    enum Language: String, CaseIterable { case python, swift }

    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The block of a page that has some text.
    private static func block(_ language: Language, of page: String, with text: String) throws -> String {
        let page = try String(contentsOf: root.appending(path: "docs/\(page).md"), encoding: .utf8)
        let blocks = page.components(separatedBy: "```\(language.rawValue)\n").dropFirst()
            .compactMap { $0.components(separatedBy: "\n```").first }
        return try #require(blocks.first { $0.contains(text) })
    }

    /// Starts a receiver, with the secret of its endpoint.
    private static func start(
        _ language: Language, at port: UInt16, secret: String, trusting prefix: String
    ) async throws -> LoopbackServer {
        let directory = try TemporaryDirectory()
        var command = [
            URL(filePath: ServiceProcess.program).deletingLastPathComponent().appending(path: "delegate-receiver").path
        ]
        if language == .python {
            let program =
                try block(language, of: "WEBHOOKS", with: "def is_valid") + "\n"
                + block(language, of: "delegate", with: "BaseHTTPRequestHandler")
            command = [
                try #require(LoopbackServer.installed("python3")), try directory.write(program, to: "receiver.py"),
            ]
        }
        var environment = ProcessInfo.processInfo.environment
        environment["WEBHOOK_SECRET"] = secret
        environment["TRUSTED"] = prefix
        environment["PORT"] = "\(port)"
        return try await LoopbackServer(in: directory, port: port, environment: environment, command)
    }

    @Test func `the page shows the program in Swift that is run here`() throws {
        let file = try String(
            contentsOf: Self.root.appending(path: "Examples/DelegateReceiver/main.swift"), encoding: .utf8)
        #expect(try Self.block(.swift, of: "delegate", with: "import Hummingbird") + "\n" == file)
    }

    @Test(arguments: Language.allCases)
    func `a receiver of the page verifies what it is asked, and its answer counts`(_ language: Language) async throws {
        let origin = try await LoopbackServer.nginx(
            in: try TemporaryDirectory(),
            """
            absolute_redirect off;
            location = /go { return 302 /a; } location = /away { return 302 /b; } location = /a { return 200 "here"; }
            """)
        let port = try LoopbackServer.freePort()
        try await ServiceProcess.with(allowing: ["127.0.0.1:\(origin.port)", "127.0.0.1:\(port)"]) { service in
            func endpoint() async throws -> (id: String, secret: String) {
                let made = try await service.request(
                    .post, "/v1/webhooks/endpoints", body: #"{"url": "http://127.0.0.1:\#(port)/"}"#)
                return (try #require(member(made.json, "id")), try #require(member(made.json, "secret")))
            }
            /// Submits a job that asks an endpoint, and returns its id.
            func submit(_ path: String, asking kind: String, _ endpoint: String) async throws -> String {
                let delegate =
                    #"{"via": "webhook", "endpoint": "\#(endpoint)", "questions": ["\#(kind)"], "timeout": 60}"#
                let body = #"{"request": {"url": "\#(origin.url(path))"}, "configuration": {"delegate": \#(delegate)}}"#
                return try #require(member(try await service.request(.post, "/v1/jobs", body: body).json, "id"))
            }
            func end(_ job: String) async throws -> String? {
                member(
                    try await service.job(job) {
                        ["succeeded", "failed", "cancelled"].contains(member($0, "state", as: String.self))
                    }, "state")
            }
            /// A member of the only question of a job.
            func told(_ name: String, _ job: String) async throws -> String? {
                let list = try await service.request(.get, "/v1/jobs/\(job)/questions")
                return member(list.json, "data", "0", name)
            }
            let (known, secret) = try await endpoint()
            let (stranger, _) = try await endpoint()
            let receiver = try await Self.start(language, at: port, secret: secret, trusting: origin.url("/a"))

            let redirection = "willPerformHTTPRedirection"
            let followed = try await submit("/go", asking: redirection, known)
            #expect(try await end(followed) == "succeeded")
            #expect(try await told("answer", followed) == "follow")
            #expect(try await told("note", followed) == "by its place")
            let cancelled = try await submit("/away", asking: redirection, known)
            #expect(try await end(cancelled) == "cancelled")
            let response = try await submit("/a", asking: "didReceiveResponse", known)
            #expect(try await end(response) == "succeeded")
            #expect(try await told("answer", response) == "performDefaultHandling")

            // A message that is signed with another secret is not believed.
            let forged = try await submit("/go", asking: redirection, stranger)
            try await until { try await told("fault", forged)?.contains("status 401") == true }
            _ = try await service.request(.post, "/v1/jobs/\(forged)/cancel")
            #expect(try await end(forged) == "cancelled")
            withExtendedLifetime(receiver) {}
        }
    }
}
